package core

import (
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"

	"github.com/stretchr/testify/require"
)

const module = "github.com/todoguard/todoguard"

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath string
	Standard   bool
	Module     *struct{ Path string }
	Deps       []string
}

func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command here")
	}
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Module,Deps"}, args...)...)
	cmd.Dir = ".."
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var pkgs []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		pkgs = append(pkgs, p)
	}
	require.NotEmpty(t, pkgs)
	return pkgs
}

// core and its store suite stand on the standard library alone.
func TestCoreImportsTheStandardLibraryAlone(t *testing.T) {
	own := 0
	for _, p := range goList(t, "-deps", "./core", "./core/storetest") {
		if p.Module != nil && p.Module.Path == module {
			require.True(t, strings.HasPrefix(p.ImportPath, module+"/core"), "core imports %s", p.ImportPath)
			own++
			continue
		}
		require.True(t, p.Standard, "core imports %s", p.ImportPath)
	}
	require.Equal(t, 2, own)
}

// The arrows of docs/design.md, section 1.
func TestArrows(t *testing.T) {
	frameworks := []string{"github.com/cloudwego/", "github.com/tmc/langchaingo"}
	for dir, banned := range map[string][]string{
		"einoadapter":    {module + "/lcgadapter", module + "/redisstore", "github.com/tmc/langchaingo", "github.com/redis/"},
		"lcgadapter":     {module + "/einoadapter", module + "/redisstore", "github.com/cloudwego/", "github.com/redis/"},
		"redisstore":     append(frameworks, module+"/einoadapter", module+"/lcgadapter"),
		"core/storytest": append(frameworks, module+"/einoadapter", module+"/lcgadapter", module+"/redisstore"),
	} {
		if _, err := os.Stat(filepath.Join("..", dir)); err != nil {
			continue
		}
		for _, p := range goList(t, "./"+dir) {
			for _, dep := range p.Deps {
				for _, b := range banned {
					require.False(t, strings.HasPrefix(dep, b), "%s imports %s", dir, dep)
				}
			}
		}
	}
}

// A rule lives in core or nowhere: the adapters' own code names no status.
func TestAdaptersNameNoStatus(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Statuses() {
		names[string(s)] = true
	}
	for _, dir := range []string{"einoadapter", "lcgadapter"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		require.NoError(t, err)
		seen := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			seen++
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, 0)
			require.NoError(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "core" {
						require.False(t, strings.HasPrefix(n.Sel.Name, "Status"), "%s names core.%s", set.Position(n.Pos()), n.Sel.Name)
					}
				case *ast.BasicLit:
					if s, err := strconv.Unquote(n.Value); err == nil {
						require.False(t, names[s], "%s names the status %s", set.Position(n.Pos()), s)
					}
				}
				return true
			})
		}
		require.NotZero(t, seen, dir)
	}
}
