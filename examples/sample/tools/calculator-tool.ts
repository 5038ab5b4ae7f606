/**
 * A tool that calculates: numbers, + - * / % ^, × and ÷, parentheses. It reads the expression itself; nothing is ever
 * evaluated as code.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "heddle/agent";
import type { ToolDelay } from "./weather-tool.ts";

/** Makes the tool. */
export const calculatorTool = ({ delayMs }: ToolDelay) =>
  defineTool({
    name: "calculate",
    description: "The value of an expression of numbers, + - * / % ^ and parentheses.",
    parameters: {
      type: "object",
      properties: { expression: { type: "string", minLength: 1, maxLength: 200 } },
      required: ["expression"],
      additionalProperties: false,
    },
    timeoutMs: 10_000,
    async execute({ expression }, { signal }) {
      if (delayMs > 0) await sleep(delayMs, undefined, { signal });
      return { expression, value: calculate(String(expression)) };
    },
  });

type Operation = (left: number, right: number) => number;

const SUMS: Readonly<Record<string, Operation>> = { "+": (a, b) => a + b, "-": (a, b) => a - b };
const PRODUCTS: Readonly<Record<string, Operation>> = {
  "*": (a, b) => a * b,
  "×": (a, b) => a * b,
  "/": (a, b) => a / b,
  "÷": (a, b) => a / b,
  "%": (a, b) => a % b,
};

/** The value of an expression. Throws a sentence where it cannot be read or has no value. */
export function calculate(expression: string): number {
  // Step 1: the text becomes numbers and signs.
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  let place = 0;

  // Step 2: one function for each level of binding, the loosest last. Each reads what belongs to it, and no more.
  const atom = (): number => {
    const token = tokens[place++] ?? "";
    if (token === "-") return -power();
    if (token === "(") {
      const value = sum();
      if (tokens[place++] !== ")") throw new Error(`A parenthesis of ${expression} is not closed.`);
      return value;
    }
    if (/^[\d.]+$/.test(token) && Number.isFinite(Number(token))) return Number(token);
    throw new Error(token === "" ? `${expression} ends too early.` : `I cannot read “${token}” in ${expression}.`);
  };
  const power = (): number => {
    const base = atom();
    if (tokens[place] !== "^") return base;
    place++;
    return base ** power();
  };
  const chain = (operations: Readonly<Record<string, Operation>>, next: () => number) => (): number => {
    let value = next();
    for (;;) {
      const operation = operations[tokens[place] ?? ""];
      if (operation === undefined) return value;
      place++;
      value = operation(value, next());
    }
  };
  const product = chain(PRODUCTS, power);
  const sum: () => number = chain(SUMS, product);

  // Step 3: everything has to be read, and the value has to be a number.
  const value = sum();
  if (place < tokens.length) throw new Error(`I cannot read “${tokens[place]}” in ${expression}.`);
  if (!Number.isFinite(value)) throw new Error(`${expression} has no value.`);
  return Number(value.toPrecision(12));
}
