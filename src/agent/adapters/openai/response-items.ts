/**
 * What each kind of output item of OpenAI's Responses is to us.
 *
 * A tool that OpenAI runs is shown as an activity and its item is carried, sealed, to the next request. A tool that
 * the caller would have to run outside of function calling is shown and reported: there is no way to answer it here.
 */

/** What becomes of an item. */
export type ItemKind = "message" | "reasoning" | "call" | "free-call" | "carried" | "image" | "unanswerable" | "input";

/** Every kind of output item. */
export const RESPONSE_ITEMS = {
  message: "message",
  reasoning: "reasoning",
  function_call: "call",
  custom_tool_call: "free-call",
  file_search_call: "carried",
  web_search_call: "carried",
  code_interpreter_call: "carried",
  compaction: "carried",
  program: "carried",
  program_output: "carried",
  tool_search_call: "carried",
  tool_search_output: "carried",
  additional_tools: "carried",
  mcp_call: "carried",
  mcp_list_tools: "carried",
  shell_call: "carried",
  shell_call_output: "carried",
  image_generation_call: "image",
  computer_call: "unanswerable",
  local_shell_call: "unanswerable",
  apply_patch_call: "unanswerable",
  mcp_approval_request: "unanswerable",
  function_call_output: "input",
  custom_tool_call_output: "input",
  computer_call_output: "input",
  local_shell_call_output: "input",
  apply_patch_call_output: "input",
  mcp_approval_response: "input",
} as const satisfies Readonly<Record<string, ItemKind>>;

/** Items that only count together: the call, and what came of it. (A program may have its output in a later answer.) */
export const ITEM_OUTPUTS: Readonly<Record<string, string>> = {
  shell_call: "shell_call_output",
  tool_search_call: "tool_search_output",
};

/** What a person is shown of an item: no secrets of the provider's, and no bytes. */
export function shownItem(item: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { type: _type, encrypted_content: _sealed, fingerprint: _print, result: _bytes, ...shown } = item;
  return shown;
}
