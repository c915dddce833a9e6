package core

import (
	"context"
)

// goOn lets a run go on without the list.
func goOn(context.Context, error) error { return nil }
