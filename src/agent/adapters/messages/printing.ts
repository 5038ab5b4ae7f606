/** Middleware that prints what passes, for people: text and thoughts as they grow, everything else a line each. */
import type { ContentPart, PartSource } from "../../../protocol/index.ts";
import type { FunctionCallResult, StreamMessage, UsageMessage } from "./stream-message.ts";
import type { Middleware } from "./streaming-agent.ts";

/** Where text is printed: `process.stdout`, or anything with `write`. */
export interface TextSink {
  /** Takes the next text. */
  write(text: string): unknown;
}

/** Middleware: prints every message to a sink, and passes it on unchanged. */
export function printing(sink: TextSink): Middleware {
  return async function* print({ messages, options }, agent) {
    const printer = new Printer(sink);
    for await (const message of agent.generateReplyStreaming(messages, options)) {
      printer.print(message);
      yield message;
    }
    printer.end();
  };
}

class Printer {
  readonly #sink: TextSink;
  /** What the line that is being written is about; undefined at the beginning of a line. */
  #line: string | undefined;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  print(message: StreamMessage): void {
    switch (message.type) {
      case "text":
        return this.#print(message.fromAgent ?? message.role ?? "assistant", message.text);
      case "text-update":
        return this.#go(message.fromAgent ?? message.role ?? "assistant", message.text);
      case "reasoning":
        return this.#print("thought", message.visibility === "encrypted" ? "(encrypted)" : message.reasoning);
      case "reasoning-update":
        return this.#go("thought", message.reasoning);
      case "tools-call":
        for (const call of message.toolCalls) this.#print("call", `${call.functionName}(${call.functionArgs})`);
        return;
      case "tools-call-update":
        for (const { functionName = "", functionArgs = "" } of message.toolCallUpdates) {
          if (functionName !== "") this.end();
          this.#go("call", functionName === "" ? functionArgs : `${functionName} ${functionArgs}`);
        }
        return;
      case "tools-call-result":
        for (const result of message.toolCallResults) this.#printResult(result);
        return;
      case "tools-call-aggregate":
        this.print(message.toolsCall);
        return this.print(message.toolsCallResult);
      case "usage":
        return this.#print("usage", countsOf(message));
      case "image":
        return this.#print("image", message.alt ?? placeOf(message.source));
      case "composite":
        return message.messages.forEach((each) => this.print(each));
    }
  }

  /** Ends the line that is being written. */
  end(): void {
    if (this.#line !== undefined) this.#sink.write("\n");
    this.#line = undefined;
  }

  #printResult({ callId, result, isError }: FunctionCallResult): void {
    const text = typeof result === "string" ? result : result.map(partAsText).join(" ");
    this.#print(isError === true ? "error" : "result", `${callId} ${text}`);
  }

  #print(label: string, text: string): void {
    this.end();
    this.#sink.write(`${label}: ${text}\n`);
  }

  #go(label: string, text: string): void {
    if (this.#line !== label) {
      this.end();
      this.#line = label;
      this.#sink.write(`${label}: `);
    }
    this.#sink.write(text);
  }
}

function countsOf({ usage }: UsageMessage): string {
  const { promptTokens, completionTokens, totalTokens } = usage;
  const counts = { prompt: promptTokens, completion: completionTokens, total: totalTokens };
  return Object.entries(counts)
    .flatMap(([name, count]) => (count === undefined ? [] : [`${count} ${name}`]))
    .join(", ");
}

const partAsText = (part: ContentPart): string => (part.type === "text" ? part.text : `[${part.type}]`);

/** Never the bytes. */
const placeOf = (source: PartSource): string => (source.type === "data" ? source.mimeType : source.value);
