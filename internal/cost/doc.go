// Package cost holds no code. Its tests measure what the plugin costs: the tokens that it adds to the requests of a scripted piece
// of work, those that the model writes for an update, and the time and allocations of a write, each beside the todo tool that Eino
// ships. README.md quotes the figures; `go test -v ./internal/cost` prints them.
package cost
