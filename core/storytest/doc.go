// Package storytest replays stories on a surface: what the user says, what a scripted model replies and what must come of
// it, told once and held by every adapter (docs/design.md, section 9).
//
// An adapter's test gives a [Surface], a few lines that run one input on its framework, and calls [Run]:
//
//	func TestStories(t *testing.T) {
//		storytest.Run(t, storytest.Options{}, storytest.Core(), myAdapter())
//	}
//
// The built-in stories are in the folder stories. TODOGUARD_STORIES=DIR runs those of DIR too, as they are told; a relative DIR
// counts from the root of the module. With TODOGUARD_MODES=all they run in the other modes of Options.Modes as well. Add -count=1
// for a DIR outside the module: go test does not see changes there, and shows the last result. UPDATE_GOLDEN=1 rewrites the
// "seen" sections of stories of DIR.
package storytest
