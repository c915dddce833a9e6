// Package einoadapter brings todo lists that stay honest to Eino: to agents of the ADK, to graphs and to the react agent. The
// rules are in package core; this package translates.
//
// # Agents of the ADK
//
// [Attach] adds the middleware to an agent's config, for *schema.Message and *schema.AgenticMessage alike. It must stand first
// among the Handlers, or directly behind the host's own adk.NewEventSenderModelWrapper; Attach and [Insert] see to that. The
// session id comes from the ctx of the run (core.WithSession) or from Config.Session; without one a run ends with
// core.ErrNoSession.
//
// What a consumer of events sees when the model answers while items are open: the answer, then the calls by which the model
// finishes its work or its list, then a closing sentence. Both answers stream as they are made, under any retry and failover
// configuration. If the model fails when it is asked once more, the run ends with the first answer and without an error.
//
// What stays in the agent's history: the correction, as a user message whose Extra has the key "todoguard". What does not: the
// block of open items. It is added to a copy of a request's last message, so that all requests before it are byte prefixes of
// each other.
//
// Interrupts: a run's state is in eino's checkpoint. A run that is interrupted or cancelled goes on in another process, under the
// same session id and with the same store, and no write is made twice. A resume counts as new input for waits.
//
// Nested agents (agent tools, deep's general agent) have no list, reminder or guard, unless Config.Nested names a session for
// them. An agent with a list that runs as a tool ends with the full answer, see [Replay].
//
// # Ends
//
// The planner's end event comes by itself when a run is answered or a tool returns directly, and when one of our own hooks ends
// it. Eino tells no middleware of other ends: a failed model or tool, the iteration limit, a cancelled ctx, an interrupt. Pass
// [NewCallback] to the run (adk.WithCallbacks) to have these too; a run that was interrupted is reported as paused.
//
// # What it cannot do
//
// An agent on *schema.AgenticMessage that is cancelled at once during a correction stops, but a consumer that reads the second
// answer meanwhile reads it to its end. Eino's retry applies to corrections as it is configured, its failover does not: the
// model that gave the answer is asked. A tool that returns directly ends a run without the guard.
//
// The middleware is safe for concurrent runs. An agent of eino v0.9.21 whose config lists tools is not (its runs share a
// configuration that each of them writes, with and without todoguard): make one agent a run; they may share the middleware.
package einoadapter
