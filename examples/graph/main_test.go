package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	require.Equal(t, `== process 1
   list, revision 1: [in_progress] Build the image; [pending] Deploy it;
   list, revision 2: [completed] Build the image; [in_progress] Deploy it;
   interrupted, 1 open
   asked: Deploy to production?
== process 2, the user said yes
   asked the model once more: its list is open
   list, revision 3: [completed] Build the image; [completed] Deploy it;
   answered, 0 open
== the answer: v1.4.0 is live: the image was built and deployed to production. (release desk, v1.4.0)
   1 completed: Build the image
   2 completed: Deploy it
`, out.String())
}
