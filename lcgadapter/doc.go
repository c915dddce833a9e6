// Package lcgadapter gives LangChainGo agents a todo list that stays honest: one tool, a hook round any agents.Agent, a
// model wrapper and an executor. The rules live in core; this package translates (docs/design.md, section 1).
//
// An OpenAIFunctionsAgent needs one call: [Wrap] returns a hooked copy that has the tool, with its real JSON schema for
// every provider whose client knows tools. [NewExecutor] runs it and knows the limit of iterations. The session id
// travels in ctx ([core.WithSession]).
//
// The text agents (OneShotZeroAgent, ConversationalAgent) write their tools into the prompt when they are made: make them
// with [Plugin.Tools], then hook them with [Plugin.Wrap], which fails loudly otherwise.
//
// # How it works
//
// The hook has no mutable fields. What a run must remember is sealed into the actions that Plan returns (the input of a
// todo call, or a suffix of the log of another call) and read back from the intermediate steps that the executor hands
// to the next Plan; a seal is authenticated, so a model cannot forge one. The wrapped agent gets copies without seals. To
// hold an answer back, Plan returns a call of the todo tool that the model never sees: the correction stands at the tail
// of the next request.
//
// # Which agent for which model
//
// Tools reach the model through the clients openai (also Azure and compatible ones), anthropic, googleai, vertex and mistral.
// Clients that ignore tools (ollama, cohere, cloudflare, huggingface, local and others) need a text agent.
//
// # What text agents cannot do
//
// They make one call a response. A second todo call in the same text is seen and refused like any parallel write; a second
// call of another tool is not made.
package lcgadapter
