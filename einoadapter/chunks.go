package einoadapter

import (
	"errors"
	"fmt"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// readChunks reads a stream to its end and closes it.
func readChunks[M any](in *schema.StreamReader[M]) ([]M, error) {
	defer in.Close()
	var chunks []M
	for {
		chunk, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return chunks, nil
		}
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
	}
}

// concat puts the chunks of one streamed message together.
func concat[M adk.MessageType](chunks []M) (M, error) {
	var zero M
	switch v := any(chunks).(type) {
	case []*schema.Message:
		m, err := schema.ConcatMessages(v)
		if err != nil {
			return zero, fmt.Errorf("einoadapter: put chunks together: %w", err)
		}
		return any(m).(M), nil
	case []*schema.AgenticMessage:
		m, err := schema.ConcatAgenticMessages(v)
		if err != nil {
			return zero, fmt.Errorf("einoadapter: put chunks together: %w", err)
		}
		return any(m).(M), nil
	}
	return zero, nil
}
