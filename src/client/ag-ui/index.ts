/** `heddle/client/ag-ui`: for whoever builds on the stock `@ag-ui/client`, which has to be installed. Every line here is public. */
export { HeddleAgent } from "./heddle-agent.ts";
export type { HeddleAgentConfig } from "./heddle-agent.ts";
