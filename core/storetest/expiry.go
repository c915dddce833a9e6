package storetest

import "time"

// expiryChecks hold what a time to live means. They need a clock that can be moved.
func expiryChecks() []check {
	return []check{
		{"expiry", "A session that nobody saves or loads for the TTL is gone, as if deleted.", needsExpiry, checkExpiry},
		{"renewed by save", "A save gives the session its full TTL again.", needsExpiry, checkRenewed},
		{"not renewed by a failed save", "A save that fails does not renew the TTL.", needsExpiry, checkNotRenewed},
	}
}

// part returns a fraction of the TTL in whole milliseconds.
func (e *env) part(percent int) time.Duration {
	return (e.h.TTL * time.Duration(percent) / 100).Truncate(time.Millisecond)
}

func checkExpiry(e *env) {
	v := e.save(e.id, "one", "")
	e.h.Advance(e.part(101) + time.Millisecond)
	e.missing(e.id)
	e.refused(e.id, "two", v)
	e.missing(e.id)
	e.save(e.id, "new", "")
	e.refused(e.id, "two", v)
}

func checkRenewed(e *env) {
	v := e.save(e.id, "one", "")
	for range 3 {
		e.h.Advance(e.part(60))
		v = e.save(e.id, "more", v)
	}
	e.h.Advance(e.part(60))
	e.stored(e.id, "more", v)
}

func checkNotRenewed(e *env) {
	v := e.save(e.id, "one", "")
	v = e.save(e.id, "two", v)
	e.h.Advance(e.part(60))
	e.refused(e.id, "x", "")
	e.refused(e.id, "x", "no such version")
	e.refused(e.id, "x", v+"0")
	e.h.Advance(e.part(60))
	e.missing(e.id)
}
