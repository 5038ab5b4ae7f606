/** `heddle/react`: threads in React components. Every line here is public. */
// Where components are rendered on a server first, this is where the browser's part begins.
"use client";

export { HeddleProvider, useHeddle } from "./provider.tsx";
export type { HeddleProviderProps } from "./provider.tsx";
export { useThread } from "./use-thread.ts";
export type { ThreadActions, ThreadHandle, UseThreadOptions } from "./use-thread.ts";
export type { Failure, ThreadValues } from "./thread-model.ts";
export { useThreads } from "./use-threads.ts";
export type { ThreadsHandle } from "./use-threads.ts";
export { useRun } from "./use-run.ts";
export type { RunHandle } from "./use-run.ts";
export { useInterrupts } from "./use-interrupts.ts";
export type { InterruptsHandle } from "./use-interrupts.ts";
export { useFrontendTool } from "./use-frontend-tool.ts";
export { useSharedState } from "./use-shared-state.ts";
export type { SharedState } from "./use-shared-state.ts";
export { useBranches } from "./use-branches.ts";
export type { BranchesHandle } from "./use-branches.ts";
export type { BranchPoint } from "./branch-tree.ts";

export { ThreadRoot } from "./thread-root.tsx";
export type { ThreadRootProps } from "./thread-root.tsx";
export { MessageList } from "./message-list.tsx";
export type { MessageListProps } from "./message-list.tsx";
export { Message, useMessage } from "./message.tsx";
export type { MessageProps } from "./message.tsx";
export type {
  ActivityProps,
  MessageComponents,
  MessageSlotProps,
  ReasoningProps,
  TextProps,
  ToolCallProps,
} from "./slots.ts";
export { Composer } from "./composer.tsx";
export type { ComposerParts, ComposerProps } from "./composer.tsx";
export { ToolCall } from "./tool-call.tsx";
export { Reasoning } from "./reasoning.tsx";
export { Activity } from "./activity.tsx";
export { ApprovalCard, Approvals } from "./approval-card.tsx";
export type { ApprovalCardProps, ApprovalsProps } from "./approval-card.tsx";
export { BranchSwitcher } from "./branch-switcher.tsx";
export type { BranchSwitcherProps } from "./branch-switcher.tsx";
