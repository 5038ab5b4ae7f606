/**
 * `heddle/protocol/session`: the session dialect as data. Sixteen events in one envelope, the request `run-agent`,
 * their JSON and JSON Schema, and the way between them and AG-UI.
 */
export { decodeForeignSessionEvent } from "./decode-foreign-session-event.ts";
export { projectFromSession, sessionCustomName } from "./project-from-session.ts";
export type { FromSession, FromSessionOptions } from "./project-from-session.ts";
export { runInputToSessionInput } from "./run-input-to-session-input.ts";
export { sessionEnded, sessionError, sessionStarted } from "./connection-events.ts";
export { SESSION_EVENT_TYPES } from "./definition.ts";
export type {
  AgentErrorData,
  AgentErrorInfo,
  AgentMessage,
  AgentResponseCompleteData,
  AssistantAgentMessage,
  DeveloperAgentMessage,
  FromSubagent,
  MetadataUpdateData,
  ProgressUpdateData,
  SessionCustomValue,
  SessionEndedData,
  SessionEnvelope,
  SessionErrorData,
  SessionErrorInfo,
  SessionEvent,
  SessionEventData,
  SessionEventOf,
  SessionEventType,
  SessionMetadata,
  SessionRunData,
  SessionRunInput,
  SessionStartedData,
  SessionUsage,
  StatusUpdateData,
  SystemAgentMessage,
  TextChunkData,
  TextMessageCompleteData,
  ThoughtBlock,
  ThoughtChunkData,
  ThoughtCompleteData,
  ToolAgentMessage,
  ToolCall,
  ToolCallChunkData,
  ToolCallCompleteData,
  ToolResult,
  ToolResultChunkData,
  ToolResultCompleteData,
  UserAgentMessage,
} from "./model.ts";
export { AGENT_EXECUTION_ERROR, projectToSession } from "./project-to-session.ts";
export type { SessionProjection, SessionProjectionOptions } from "./project-to-session.ts";
export {
  decodeSessionEvent,
  decodeSessionRunInput,
  encodeSessionEvent,
  encodeSessionRunInput,
} from "./session-codec.ts";
export { sessionInputToRunInput } from "./session-input-to-run-input.ts";
export type { SessionInputIds } from "./session-input-to-run-input.ts";
export { sessionEventSchema, sessionRunInputSchema, sessionSchemaFor, sessionSchemas } from "./session-schema.ts";
export type { SessionSchemaName } from "./session-schema.ts";
