package core_test

import (
	"testing"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storetest"
)

func TestMemoryStoreHoldsTheContract(t *testing.T) {
	storetest.Run(t, storetest.Harness{New: func(testing.TB) core.Store { return core.NewMemoryStore() }})
}
