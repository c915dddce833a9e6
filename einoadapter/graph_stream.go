package einoadapter

import (
	"io"

	"github.com/cloudwego/eino/schema"
)

// passOn hands a stream on as it comes. A goroutine of its own reads a copy to the end and gives the whole message to ended,
// whether or not the consumer reads on; the consumer's stream ends after that, with the chunk or the error that ended
// returned, if any. A stream that breaks is never whole.
func passOn(in *schema.StreamReader[*schema.Message], ended func(*schema.Message) (*schema.Message, error)) *schema.StreamReader[*schema.Message] {
	copies := in.Copy(2)
	var more *schema.Message
	var fail error
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, msg, err := readAll(copies[1]); err == nil { // an error the consumer gets from its own copy
			more, fail = ended(msg)
		}
	}()
	return schema.StreamReaderWithConvert(copies[0],
		func(m *schema.Message) (*schema.Message, error) { return m, nil },
		schema.WithOnEOF(func() (any, error) {
			<-done
			switch {
			case fail != nil:
				return nil, fail
			case more != nil:
				return more, nil
			}
			return nil, io.EOF
		}))
}
