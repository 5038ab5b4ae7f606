/** What events and inputs are made of: messages, parts, outcomes, tools, patches, run input, capabilities. */
import {
  alias,
  boolean,
  constant,
  json,
  list,
  may,
  must,
  object,
  oneOf,
  open,
  openObject,
  pointer,
  ref,
  string,
  textOr,
  uint,
  union,
  value,
} from "./shape.ts";
import type { Definitions, Fields, ObjectDefinition } from "./shape.ts";

const metadata = may(ref("Metadata"), "Extra information, open by key.");
const id = must(string, "Id, unique in the thread.");
const owner: Fields = {
  subagentRunId: may(ref("SubagentRunId"), "The subagent invocation that made it; absent for the agent itself."),
};
const encrypted: Fields = {
  encryptedValue: may(string, "Opaque value that goes back to its issuer unchanged."),
  encryptedValueType: may(string, "What kind of value it is, in the issuer's words (1.1)."),
};

const message = (role: string, doc: string, own: Fields, common: Fields): ObjectDefinition =>
  object(doc, { id, role: must(constant(role), "Whose message this is."), ...own, ...common, metadata, ...owner });

const named: Fields = { name: may(string, "Name to show for the author."), ...encrypted };

const messages: Definitions = {
  DeveloperMessage: message(
    "developer",
    "Instructions of the application.",
    { content: must(string, "The text.") },
    named,
  ),
  SystemMessage: message("system", "Instructions of the system.", { content: must(string, "The text.") }, named),
  AssistantMessage: message(
    "assistant",
    "What the agent said, and the tools that it called.",
    {
      content: may(string, "The text; absent where there are only calls."),
      toolCalls: may(list(ref("ToolCall")), "The calls, in order."),
    },
    named,
  ),
  UserMessage: message(
    "user",
    "What the person said.",
    { content: must(textOr(list(ref("ContentPart"))), "Text, or parts in order.") },
    named,
  ),
  ToolMessage: message(
    "tool",
    "What a tool returned.",
    {
      content: must(textOr(list(ref("ContentPart"))), "Text, or parts in order."),
      toolCallId: must(string, "The call that it answers."),
      error: may(string, "Why the call failed, where it did."),
    },
    encrypted,
  ),
  ActivityMessage: message(
    "activity",
    "Something shown to people only; never sent to the agent.",
    { activityType: must(string, "What kind of activity."), content: must(open, "What is shown for it.") },
    {},
  ),
  ReasoningMessage: message(
    "reasoning",
    "What the agent thought.",
    { content: must(string, "The text; empty where only the encrypted value counts.") },
    encrypted,
  ),
  Message: union("Every message.", "role", [
    "DeveloperMessage",
    "SystemMessage",
    "AssistantMessage",
    "UserMessage",
    "ToolMessage",
    "ActivityMessage",
    "ReasoningMessage",
  ]),
  Role: oneOf("Whose message it is.", ["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]),
  ToolCall: object("A call that an assistant message carries.", {
    id: must(string, "Id of the call."),
    type: must(constant("function"), "Always `function`."),
    function: must(ref("FunctionCall"), "What is called."),
    ...encrypted,
    metadata,
  }),
  FunctionCall: object("A function's name and its arguments.", {
    name: must(string, "Name of the tool."),
    arguments: must(string, "Argument text, JSON by intent; not judged by the protocol."),
  }),
};

const part = (type: string, doc: string, own: Fields): ObjectDefinition =>
  object(doc, {
    type: must(constant(type), "Which kind of part this is."),
    ...own,
    id: may(string, "Id of the part; reserved."),
    metadata: may(value, "Extra information; any value."),
  });

const media = (type: string, doc: string): ObjectDefinition =>
  part(type, doc, { source: must(ref("PartSource"), "Where the bytes are.") });

const parts: Definitions = {
  TextPart: part("text", "Text.", { text: must(string, "The text.") }),
  ImagePart: media("image", "An image."),
  AudioPart: media("audio", "A sound."),
  VideoPart: media("video", "A film."),
  DocumentPart: media("document", "A document."),
  ContentPart: union("One part of a message's body.", "type", [
    "TextPart",
    "ImagePart",
    "AudioPart",
    "VideoPart",
    "DocumentPart",
  ]),
  DataSource: object("Bytes that come along.", {
    type: must(constant("data"), "Which kind of source this is."),
    value: must(string, "The bytes in base64."),
    mimeType: must(string, "Their media type."),
  }),
  UrlSource: object("Bytes at an address.", {
    type: must(constant("url"), "Which kind of source this is."),
    value: must(string, "The address."),
    mimeType: may(string, "Their media type."),
  }),
  FileSource: object("Bytes that the model's provider holds already.", {
    type: must(constant("file"), "Which kind of source this is."),
    value: must(string, "The provider's handle; opaque."),
    provider: may(string, "The provider, in lower case."),
    mimeType: may(string, "Their media type."),
  }),
  PartSource: union("Where a part's bytes are.", "type", ["DataSource", "UrlSource", "FileSource"]),
};

const outcomes: Definitions = {
  RunFinishedSuccessOutcome: object("The run did what it could.", {
    type: must(constant("success"), "Which outcome this is."),
    pendingToolCallIds: may(list(string), "Calls that the run started and nobody answered, in order."),
  }),
  RunFinishedInterruptOutcome: object("The run waits for an answer.", {
    type: must(constant("interrupt"), "Which outcome this is."),
    interrupts: must(list(ref("Interrupt"), 1), "What is asked; at least one."),
  }),
  RunFinishedCancelledOutcome: object("The run was stopped on purpose.", {
    type: must(constant("cancelled"), "Which outcome this is."),
  }),
  RunFinishedOutcome: union("How a run ended.", "type", [
    "RunFinishedSuccessOutcome",
    "RunFinishedInterruptOutcome",
    "RunFinishedCancelledOutcome",
  ]),
  SubagentFinishedSuccessOutcome: object("The subagent did what it could.", {
    type: must(constant("success"), "Which outcome this is."),
  }),
  SubagentFinishedSuspendedOutcome: object("The subagent waits for an answer.", {
    type: must(constant("suspended"), "Which outcome this is."),
    interruptIds: may(list(string), "The interrupts it waits for."),
  }),
  SubagentFinishedOutcome: union("How a subagent ended.", "type", [
    "SubagentFinishedSuccessOutcome",
    "SubagentFinishedSuspendedOutcome",
  ]),
  Interrupt: object("A question to someone outside the run.", {
    id: must(string, "Id, unique in the run; an answer names it."),
    reason: must(string, "Why it is asked, for programs; an open set."),
    message: may(string, "What to show to the person."),
    toolCallId: may(string, "The tool call that it is about."),
    responseSchema: may(open, "JSON Schema of the answer."),
    expiresAt: may(string, "When it can no longer be answered, ISO 8601 by convention."),
    metadata,
    ...owner,
  }),
  ResumeEntry: object("An answer to an interrupt.", {
    interruptId: must(string, "The interrupt."),
    status: must(ref("ResumeStatus"), "Answered or given up."),
    payload: may(value, "The answer."),
    metadata,
  }),
  ResumeStatus: oneOf("What became of an interrupt.", ["resolved", "cancelled"]),
  TokenUsage: object("Tokens spent with one model. An absent count is unknown, not zero.", {
    provider: may(string, "The model's provider."),
    model: may(string, "The model."),
    inputTokens: may(uint, "All prompt tokens, cached ones included."),
    outputTokens: may(uint, "All generated tokens, reasoning included."),
    totalTokens: may(uint, "Input and output."),
    reasoningTokens: may(uint, "Part of the output."),
    cachedInputTokens: may(uint, "Part of the input, read from a cache."),
    cacheWriteInputTokens: may(uint, "Part of the input, written to a cache."),
  }),
};

const inputs: Definitions = {
  RunAgentInput: object("What a run is started with.", {
    threadId: must(string, "Id of the conversation."),
    runId: must(string, "Id of the run, unique in its thread."),
    messages: must(list(ref("Message")), "The conversation so far."),
    protocolVersion: may(string, "Version that the consumer speaks; absent before 1.0."),
    parentRunId: may(string, "The run that this one comes from."),
    state: may(value, "The state to start from; absent means `{}`."),
    tools: may(list(ref("Tool")), "Tools that the frontend offers; absent means none."),
    context: may(list(ref("Context")), "What the model should know; absent means nothing."),
    forwardedProps: may(value, "Anything else for the agent, passed on unchanged."),
    resume: may(list(ref("ResumeEntry")), "Answers to interrupts."),
  }),
  Tool: object("A tool that can be called.", {
    name: must(string, "Name, unique among the tools."),
    description: must(string, "What it does, for the model."),
    parameters: may(value, "JSON Schema of its arguments."),
    metadata,
  }),
  Context: object("Something that the model should know.", {
    description: must(string, "What it is."),
    value: must(string, "What it says."),
  }),
};

const operation = (op: string, doc: string, own: Fields): ObjectDefinition =>
  openObject(doc, {
    op: must(constant(op), "Which operation this is."),
    path: must(ref("JsonPointer"), "Where."),
    ...own,
  });
const operand: Fields = { value: must(json, "The value.") };
const origin: Fields = { from: must(ref("JsonPointer"), "From where.") };

const patches: Definitions = {
  AddOperation: operation("add", "Inserts a value.", operand),
  RemoveOperation: operation("remove", "Removes a value.", {}),
  ReplaceOperation: operation("replace", "Replaces a value.", operand),
  MoveOperation: operation("move", "Moves a value.", origin),
  CopyOperation: operation("copy", "Copies a value.", origin),
  TestOperation: operation("test", "Demands that a value is equal.", operand),
  JsonPatchOperation: union("One operation of RFC 6902. Members that it does not name are kept.", "op", [
    "AddOperation",
    "RemoveOperation",
    "ReplaceOperation",
    "MoveOperation",
    "CopyOperation",
    "TestOperation",
  ]),
  JsonPatch: alias("Operations of RFC 6902, applied in order, all or none.", list(ref("JsonPatchOperation"))),
  JsonPointer: alias("A pointer of RFC 6901: empty, or tokens that each begin with a slash.", pointer),
  Metadata: alias("Extra information: any value, null included, under any key.", open),
  State: alias("Agent state: any JSON value.", json),
  SubagentRunId: alias("Handle of one subagent invocation.", string),
};

const flags = (docs: Readonly<Record<string, string>>): Fields =>
  Object.fromEntries(Object.entries(docs).map(([name, doc]) => [name, may(boolean, doc)]));
const group = (to: string, doc: string) => may(ref(to), doc);

const capabilities: Definitions = {
  AgentCapabilities: object("What an agent says that it can do. What is absent is undeclared, not denied.", {
    identity: group("IdentityCapabilities", "Who it is."),
    transport: group("TransportCapabilities", "How it can be reached."),
    tools: group("ToolsCapabilities", "Tools."),
    output: group("OutputCapabilities", "What it returns."),
    state: group("StateCapabilities", "Shared state."),
    multiAgent: group("MultiAgentCapabilities", "Other agents."),
    reasoning: group("ReasoningCapabilities", "Reasoning."),
    multimodal: group("MultimodalCapabilities", "Media."),
    execution: group("ExecutionCapabilities", "Running code."),
    humanInTheLoop: group("HumanInTheLoopCapabilities", "Asking people."),
    custom: may(open, "Anything else."),
  }),
  IdentityCapabilities: object("Who the agent is.", {
    name: may(string, "Its name."),
    type: may(string, "Its kind or framework."),
    description: may(string, "What it is for."),
    version: may(string, "Its version."),
    provider: may(string, "Who provides it."),
    documentationUrl: may(string, "Where it is documented."),
    metadata,
  }),
  TransportCapabilities: object(
    "How the agent can be reached.",
    flags({
      streaming: "Streams events.",
      websocket: "Speaks WebSocket.",
      httpBinary: "Speaks protobuf.",
      pushNotifications: "Pushes notifications.",
      resumable: "Lets a cut stream be continued.",
    }),
  ),
  ToolsCapabilities: object("Tools of the agent.", {
    ...flags({
      supported: "Calls tools.",
      parallelCalls: "Calls several at once.",
      clientProvided: "Takes the frontend's.",
    }),
    items: may(list(ref("Tool")), "The agent's own tools."),
  }),
  OutputCapabilities: object("What the agent returns.", {
    structuredOutput: may(boolean, "Returns data of a given form."),
    supportedMimeTypes: may(list(string), "Media types that it returns."),
  }),
  StateCapabilities: object(
    "Shared state.",
    flags({
      snapshots: "Sends snapshots.",
      deltas: "Sends deltas.",
      memory: "Remembers within a thread.",
      persistentState: "Remembers across threads.",
    }),
  ),
  MultiAgentCapabilities: object("Other agents.", {
    ...flags({ supported: "Works with others.", delegation: "Delegates.", handoffs: "Hands over." }),
    subagents: may(list(ref("SubagentInfo")), "The subagents that it may call."),
  }),
  SubagentInfo: object("A subagent that may be called.", {
    name: must(string, "Its name."),
    description: may(string, "What it is for."),
  }),
  ReasoningCapabilities: object(
    "Reasoning.",
    flags({ supported: "Shows reasoning.", streaming: "Streams it.", encrypted: "Sends encrypted values." }),
  ),
  MultimodalCapabilities: object("Media.", {
    input: group("MultimodalInputCapabilities", "What it understands."),
    output: group("MultimodalOutputCapabilities", "What it makes."),
  }),
  MultimodalInputCapabilities: object(
    "Media that the agent understands.",
    flags({ image: "Images.", audio: "Sounds.", video: "Films.", pdf: "PDF documents.", file: "Other files." }),
  ),
  MultimodalOutputCapabilities: object("Media that the agent makes.", flags({ image: "Images.", audio: "Sounds." })),
  ExecutionCapabilities: object("Running code.", {
    ...flags({ codeExecution: "Runs code.", sandboxed: "In a sandbox." }),
    maxIterations: may(uint, "Most rounds in a run."),
    maxExecutionTime: may(uint, "Longest run, in milliseconds."),
  }),
  HumanInTheLoopCapabilities: object(
    "Asking people.",
    flags({
      supported: "Asks people.",
      approvals: "Asks for approval.",
      interventions: "Takes corrections during a run.",
      feedback: "Takes feedback.",
      interrupts: "Uses interrupts.",
      approveWithEdits: "Takes approval with changed arguments.",
    }),
  ),
};

/** What events and inputs are made of. */
export const valueDefinitions: Definitions = {
  ...messages,
  ...parts,
  ...outcomes,
  ...inputs,
  ...patches,
  ...capabilities,
};
