// Package docs holds no code. Its tests hold the README and the design to the code: examples, settings, codes, links.
package docs
