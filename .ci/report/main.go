// Report reads the events of `go test -json` on standard input. It prints go test's own closing lines as they come, then all that
// the failed tests said, and it fails where a test failed or was skipped.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

type event struct {
	Action, Package, ImportPath, Test, Output string
}

var (
	closing = regexp.MustCompile(`^(ok|FAIL|\?|panic:)\s`)
	frame   = regexp.MustCompile(`^\s*(=== (RUN|PAUSE|CONT|NAME)|--- PASS)`)
	noise   = regexp.MustCompile(`^redis: \d{4}/`) // the driver tells of each dial that fails; tests of outages have hundreds

	// What may be skipped: checks of core/storetest that a store does not offer the means for, since it is run on stores of every
	// kind, and the benchmark, which has a step of its own.
	allowed = regexp.MustCompile(`storetest\.go:\d+: skipped: |watch\.go:\d+: skipped: |set TODOGUARD_BENCH=1`)
)

func main() {
	said := map[string]*strings.Builder{} // by package and test
	of := func(e event) *strings.Builder {
		key := e.Package + " " + e.Test
		if said[key] == nil {
			said[key] = &strings.Builder{}
		}
		return said[key]
	}
	var bad []string
	tests := 0
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			fmt.Println(in.Text()) // not an event: what go itself has to say
			continue
		}
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "output":
			if e.Test == "" && closing.MatchString(e.Output) {
				fmt.Print(e.Output)
			}
			if !frame.MatchString(e.Output) && !noise.MatchString(e.Output) {
				of(e).WriteString(e.Output)
			}
		case "pass", "fail", "skip":
			text := of(e).String()
			delete(said, e.Package+" "+e.Test)
			if e.Test != "" {
				tests++
			}
			switch {
			case e.Action == "fail":
				bad = append(bad, fmt.Sprintf("FAILED %s %s\n%s", e.Package, e.Test, text))
			case e.Action == "skip" && e.Test != "" && !allowed.MatchString(text):
				bad = append(bad, fmt.Sprintf("SKIPPED %s %s\n%s", e.Package, e.Test, text))
			}
		}
	}
	for _, b := range bad {
		fmt.Println("\n" + strings.TrimSpace(b))
	}
	switch {
	case in.Err() != nil:
		fmt.Println("report:", in.Err())
	case tests == 0:
		fmt.Println("report: no test ran")
	case len(bad) == 0:
		fmt.Printf("%d tests\n", tests)
		return
	}
	os.Exit(1)
}
