package docs

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(b)
}

// same holds a file to what it should be. UPDATE_GOLDEN=1 rewrites it.
func same(t *testing.T, name, want string) {
	t.Helper()
	got := read(t, name)
	if got != want && os.Getenv("UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(want), 0o644))
		return
	}
	require.Equal(t, want, got, "UPDATE_GOLDEN=1 go test ./internal/docs rewrites %s", name)
}

var block = regexp.MustCompile("(?s)<!-- example: (\\S+) (\\w+) -->\n```go\n.*?```\n")

// The code blocks of the README are the bodies of tested Examples.
func TestCodeBlocksAreExamples(t *testing.T) {
	readme := read(t, "README.md")
	require.Len(t, block.FindAllString(readme, -1), 3)
	require.Equal(t, 3, strings.Count(readme, "```go"), "a block of code that is no Example")
	same(t, "README.md", block.ReplaceAllStringFunc(readme, func(old string) string {
		m := block.FindStringSubmatch(old)
		return fmt.Sprintf("<!-- example: %s %s -->\n```go\n%s\n```\n", m[1], m[2], body(t, m[1], m[2]))
	}))
}

// body is what stands inside a function, one tab less, without the output that it is tested by.
func body(t *testing.T, file, name string) string {
	t.Helper()
	src := read(t, file)
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	require.NoError(t, err)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != name {
			continue
		}
		text := src[fset.Position(fn.Body.Lbrace).Offset+1 : fset.Position(fn.Body.Rbrace).Offset]
		text, output, found := strings.Cut(text, "// Output:")
		require.True(t, found && strings.TrimSpace(output) != "", "%s in %s has no output: it is not run", name, file)
		return strings.TrimSpace(strings.ReplaceAll(text, "\n\t", "\n"))
	}
	t.Fatalf("no %s in %s", name, file)
	return ""
}

// The settings table has a row for each field of core.Config, with its default.
func TestSettingsTable(t *testing.T) {
	readme := read(t, "README.md")
	const head = "| field | default | what it does |\n|---|---|---|\n"
	before, rest, found := strings.Cut(readme, head)
	require.True(t, found, "no settings table")
	table, after, found := strings.Cut(rest, "\n\n")
	require.True(t, found)
	says := map[string]string{}
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(strings.Trim(row, "|"), " | ")
		require.Len(t, cells, 3, row)
		says[strings.Trim(cells[0], " `")] = strings.TrimSpace(cells[2])
	}
	p, err := core.New(core.Config{})
	require.NoError(t, err)
	rows := settings(reflect.ValueOf(p.Config()), "")
	require.Greater(t, len(rows), 20)
	var want []string
	for _, r := range rows {
		text := says[r[0]]
		require.NotEmpty(t, text, "the README says nothing of Config.%s", r[0])
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", r[0], r[1], text))
	}
	require.Len(t, says, len(rows), "a row is about no field")
	same(t, "README.md", before+head+strings.Join(want, "\n")+"\n\n"+after)
}

func settings(v reflect.Value, prefix string) (rows [][2]string) {
	for i := range v.NumField() {
		name, f := prefix+v.Type().Field(i).Name, v.Field(i)
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct {
			rows = append(rows, settings(f, name+".")...)
			continue
		}
		rows = append(rows, [2]string{name, defaultOf(name, f)})
	}
	return rows
}

func defaultOf(name string, f reflect.Value) string {
	switch x := f.Interface().(type) {
	case time.Duration:
		return regexp.MustCompile(`m0s$`).ReplaceAllString(x.String(), "m")
	case bool:
		return map[bool]string{false: "off", true: "on"}[x]
	case int:
		s := strconv.Itoa(x)
		if len(s) > 3 {
			s = s[:len(s)-3] + "," + s[len(s)-3:]
		}
		return s
	case core.Store:
		return "in memory"
	}
	switch {
	case f.Kind() == reflect.String:
		return "`" + f.String() + "`"
	case f.IsNil():
		return map[bool]string{false: "none", true: "built in"}[name == "Texts"]
	}
	return map[string]string{"Now": "`time.Now`", "NewID": "random"}[name]
}

func TestDefaultsReadAsTheyShould(t *testing.T) {
	require.Equal(t, "10s", defaultOf("", reflect.ValueOf(10*time.Second)))
	require.Equal(t, "2m", defaultOf("", reflect.ValueOf(2*time.Minute)))
	require.Equal(t, "16,384", defaultOf("", reflect.ValueOf(16<<10)))
}

func TestReadmeIsShort(t *testing.T) {
	require.Less(t, strings.Count(read(t, "README.md"), "\n"), 250)
}

// The version table says what go.mod says.
func TestVersions(t *testing.T) {
	readme, mod := read(t, "README.md"), read(t, "go.mod")
	rows := regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \| (v\S+) \|$`).FindAllStringSubmatch(readme, -1)
	require.Len(t, rows, 4)
	for _, r := range rows {
		require.Regexp(t, `(?m)^\s*(require )?`+regexp.QuoteMeta(r[1]+" "+r[2])+`( |$)`, mod)
	}
	version := regexp.MustCompile(`(?m)^\| Go \| (\S+) \|$`).FindStringSubmatch(readme)
	require.NotNil(t, version)
	require.Contains(t, mod, "\ngo "+version[1])
}

// Relative links and the programs that are named exist.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	program := regexp.MustCompile("`(?:go run \\./)?(examples/[a-z]+)`")
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "docs/design.md", "CHANGELOG.md"} {
		text := read(t, name)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join(root, filepath.Dir(name), m[1]), name)
		}
		for _, m := range program.FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join(root, m[1], "main.go"), name)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(root, "examples/*/main.go"))
	require.NoError(t, err)
	for _, d := range dirs {
		require.Contains(t, read(t, "README.md"), "`examples/"+filepath.Base(filepath.Dir(d))+"`")
	}
}

// constants returns the values of the string constants of a type in a file of core.
func constants(t *testing.T, file, typ string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), 0)
	require.NoError(t, err)
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typ {
			s, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			out = append(out, s)
		}
		return true
	})
	require.NotEmpty(t, out, "%s in %s", typ, file)
	return out
}

// The design names every refusal code, status and key of the state document.
func TestDesignIsComplete(t *testing.T) {
	design := read(t, "docs/design.md")
	names := slices.Concat(constants(t, "core/errors.go", "Code"), constants(t, "core/item.go", "Status"))
	var doc map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(read(t, "core/testdata/state/schema1_full.json")), &doc))
	for key := range doc {
		if strings.HasPrefix(key, "todo") || slices.Contains([]string{"schema", "revision", "run_id", "checks", "held_answer"}, key) {
			names = append(names, key)
		}
	}
	require.Greater(t, len(names), 35)
	for _, n := range names {
		require.Contains(t, design, "`"+n+"`")
	}
	for n := 1; n <= 10; n++ {
		require.Contains(t, design, fmt.Sprintf("\n## %d. ", n), "doc comments refer to it")
	}
}
