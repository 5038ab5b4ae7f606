/**
 * `heddle/testing`: what proves an implementation. The runner of AG-UI's conformance fixtures, and the contract kits for
 * agents and stores of your own.
 */
export { agentContract } from "./agent-contract.ts";
export type { AgentCase, AgentContractOptions } from "./agent-contract.ts";
export type { RunFunction } from "./agent-under-test.ts";
export { judgeFixture } from "./conformance.ts";
export type { ConformanceOptions, Fixture } from "./conformance.ts";
export { readStream } from "./read-stream.ts";
export type { ReadStreamOptions, StreamReading } from "./read-stream.ts";
export { CONTRACT_CASES, ContractViolation, modelTest, storeContract } from "./store-contract/store-contract.ts";
export type {
  ModelTestOptions,
  NewerData,
  StoreCase,
  StoreContractOptions,
  StoreUnderTest,
} from "./store-contract/store-contract.ts";
