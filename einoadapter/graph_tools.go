package einoadapter

import (
	"context"

	"github.com/cloudwego/eino/compose"
)

// toolMiddleware runs every tool call, of whatever kind, under the ctx that enter makes.
func toolMiddleware(enter func(ctx context.Context) (context.Context, error)) compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				ctx, err := enter(ctx)
				if err != nil {
					return nil, err
				}
				return next(ctx, in)
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				ctx, err := enter(ctx)
				if err != nil {
					return nil, err
				}
				return next(ctx, in)
			}
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
				ctx, err := enter(ctx)
				if err != nil {
					return nil, err
				}
				return next(ctx, in)
			}
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				ctx, err := enter(ctx)
				if err != nil {
					return nil, err
				}
				return next(ctx, in)
			}
		},
	}
}
