/**
 * The calls of a stream: which are told, which are answered, and by what id.
 *
 * Pipelines say a call more than once, in pieces and then whole. Some models use an id again for another call; AG-UI's
 * ids are for one call each, so the later one gets a name of its own, and results go to the newest.
 */
import type { ContentPart } from "../../../protocol/index.ts";

/** What tells calls apart, besides the source's id. */
interface CallIdentity {
  readonly functionName: string;
  readonly generationId: string | undefined;
}

interface KnownCall extends CallIdentity {
  readonly id: string;
  args: string;
  answer: string | undefined;
}

/** The calls of one stream. */
export class KnownCalls {
  /** The newest call by the source's id. */
  readonly #newest = new Map<string, KnownCall>();
  readonly #all = new Map<string, KnownCall>();

  /** Our id of a call. */
  idOf(callId: string): string {
    return this.#newest.get(callId)?.id ?? callId;
  }

  /** What is left to say of a whole call: nothing where it is told already, undefined where it is another call. */
  unsaid(callId: string, { functionName, generationId }: CallIdentity, args: string): string | undefined {
    const known = this.#newest.get(callId);
    if (known?.functionName !== functionName) return undefined;
    const isOfGeneration = known.generationId === generationId;
    if (known.args === args && (known.answer === undefined || isOfGeneration)) return "";
    const goesOn = known.answer === undefined && isOfGeneration && args.startsWith(known.args);
    return goesOn ? args.slice(known.args.length) : undefined;
  }

  /** Begins a call, and says our id. */
  begin(callId: string, identity: CallIdentity): string {
    let id = callId;
    for (let count = 2; this.#all.has(id); count++) id = `${callId}-${count}`;
    const call: KnownCall = { ...identity, id, args: "", answer: undefined };
    this.#newest.set(callId, call);
    this.#all.set(id, call);
    return id;
  }

  /** Goes on with a call of this generation that has no answer yet, or begins one, and says our id. */
  goOn(callId: string, identity: CallIdentity): string {
    const known = this.#newest.get(callId);
    const isSame = known?.functionName === identity.functionName && known.generationId === identity.generationId;
    return known !== undefined && isSame && known.answer === undefined ? known.id : this.begin(callId, identity);
  }

  /** Adds to the arguments of a call. */
  add(callId: string, args: string): void {
    const known = this.#newest.get(callId);
    if (known !== undefined) known.args += args;
  }

  /** Answers a call. False where the same answer was given before. */
  answer(callId: string, result: string | readonly ContentPart[]): boolean {
    const known = this.#newest.get(callId);
    const answer = JSON.stringify(result);
    if (known === undefined) return true;
    if (known.answer === answer) return false;
    known.answer = answer;
    return true;
  }

  /** Our ids of the calls that have no answer, in order. */
  pending(): readonly string[] {
    return [...this.#all.values()].flatMap(({ id, answer }) => (answer === undefined ? [id] : []));
  }
}
