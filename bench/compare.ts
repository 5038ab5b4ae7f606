/**
 * Two ways of doing the same work, measured side by side: both warmed, rounds interleaved and in changing order, the
 * median of the rounds' ratios. Ratios hold on a busy machine; milliseconds do not.
 */

/** One row of the table. */
export interface Row {
  readonly what: string;
  readonly peer: string;
  /** Our time against the peer's: `faster` is peer/ours, `cost` is ours/peer. */
  readonly kind: "faster" | "cost";
  readonly target: number;
  /** The ratio, or the figure; NaN where it could not be measured. */
  readonly ratio: number;
  /** Middle half of the rounds. */
  readonly spread: readonly [number, number];
  /** Unit of a figure, which is against nobody; absent for a ratio. */
  readonly unit?: string;
}

/** What a row is about, before it is measured. */
export type RowPlan = Pick<Row, "what" | "peer" | "kind" | "target">;

/** How much to measure. */
export interface Effort {
  readonly rounds: number;
  /** Shortest time that one side of a round takes. */
  readonly sliceMs: number;
  /** Whether workloads are shortened. */
  readonly quick: boolean;
}

export const FULL: Effort = { rounds: 15, sliceMs: 60, quick: false };
export const QUICK: Effort = { rounds: 5, sliceMs: 25, quick: true };

/** Work of one side; what it returns is kept, so that nothing is optimised away. */
export type Work = () => unknown;

let sink: unknown;

export function compare(row: RowPlan, ours: Work, theirs: Work, effort: Effort): Row {
  const repeats = [ours, theirs].map((work) => calibrate(work, effort.sliceMs));
  const ratios: number[] = [];
  for (let round = 0; round < effort.rounds; round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    const times = [0, 0];
    for (const side of order) times[side] = time(side === 0 ? ours : theirs, repeats[side] ?? 1);
    const [mine = 1, peers = 1] = times;
    ratios.push(row.kind === "faster" ? peers / mine : mine / peers);
  }
  ratios.sort((a, b) => a - b);
  const at = (part: number): number => ratios[Math.floor((ratios.length - 1) * part)] ?? NaN;
  return { ...row, ratio: at(0.5), spread: [at(0.25), at(0.75)] };
}

/** The same, where each execution needs something made for it that is not to be timed: the outer function makes it. */
export function comparePrepared(row: RowPlan, ours: () => Work, theirs: () => Work, effort: Effort): Row {
  const sideTime = (prepare: () => Work): number => {
    let timed = 0;
    let done = 0;
    while (timed < effort.sliceMs) {
      const work = prepare();
      const started = performance.now();
      sink = work();
      timed += performance.now() - started;
      done++;
    }
    return timed / done;
  };
  sideTime(ours);
  sideTime(theirs);
  const ratios = Array.from({ length: effort.rounds }, () => {
    const mine = sideTime(ours);
    const peers = sideTime(theirs);
    return row.kind === "faster" ? peers / mine : mine / peers;
  }).toSorted((a, b) => a - b);
  const at = (part: number): number => ratios[Math.floor((ratios.length - 1) * part)] ?? NaN;
  return { ...row, ratio: at(0.5), spread: [at(0.25), at(0.75)] };
}

/** Work of one side, and how many units of it there are. */
export interface Portion {
  readonly units: number;
  readonly work: () => unknown;
}

/**
 * The same for work that may wait, compared by the time of one unit: the slow side then need not do as much of it.
 * Three rounds at most, since a peer may take seconds for one.
 */
export async function comparePerUnit(row: RowPlan, ours: Portion, theirs: Portion, effort: Effort): Promise<Row> {
  const rounds = Math.min(effort.rounds, 3);
  const timeOf = async ({ units, work }: Portion): Promise<number> => {
    const started = performance.now();
    let done = 0;
    do {
      sink = await work();
      done++;
    } while (performance.now() - started < effort.sliceMs);
    return (performance.now() - started) / done / units;
  };
  await timeOf(ours);
  if (rounds > 1) await timeOf(theirs);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const mine = await timeOf(ours);
    const peers = await timeOf(theirs);
    ratios.push(row.kind === "faster" ? peers / mine : mine / peers);
  }
  ratios.sort((a, b) => a - b);
  const at = (part: number): number => ratios[Math.floor((ratios.length - 1) * part)] ?? NaN;
  return { ...row, ratio: at(0.5), spread: [at(0), at(1)] };
}

/**
 * The same for work that waits and says itself how long it took: one of each at a time, in changing order. A round
 * compares the medians of so many of each. One round goes before, to warm both.
 */
export async function compareTimes(
  row: RowPlan,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  { rounds, samples }: { readonly rounds: number; readonly samples: number },
): Promise<Row> {
  const ratios: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const mine: number[] = [];
    const peers: number[] = [];
    for (let sample = 0; sample < samples; sample++) {
      const order = (round + sample) % 2 === 0 ? [0, 1] : [1, 0];
      for (const side of order) (side === 0 ? mine : peers).push(await (side === 0 ? ours() : theirs()));
    }
    const [a, b] = [median(mine), median(peers)];
    if (round > 0) ratios.push(row.kind === "faster" ? b / a : a / b);
  }
  ratios.sort((a, b) => a - b);
  const at = (part: number): number => ratios[Math.floor((ratios.length - 1) * part)] ?? NaN;
  return { ...row, ratio: at(0.5), spread: [at(0.25), at(0.75)] };
}

/** The middle of some numbers. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? NaN;

/** Warms a work up, and finds how often it has to run to fill a slice. */
function calibrate(work: Work, sliceMs: number): number {
  let repeats = 1;
  for (;;) {
    const started = performance.now();
    for (let count = 0; count < repeats; count++) sink = work();
    const taken = performance.now() - started;
    if (taken >= sliceMs) {
      time(work, repeats);
      return repeats;
    }
    repeats = Math.max(repeats + 1, Math.ceil((repeats * sliceMs * 1.2) / Math.max(taken, 0.01)));
  }
}

/** Time of one execution. */
function time(work: Work, repeats: number): number {
  const started = performance.now();
  for (let count = 0; count < repeats; count++) sink = work();
  return (performance.now() - started) / repeats;
}

/** What is so, and not against anybody. */
export const figure = (what: string, unit: string, value: number, target: number): Row => ({
  what,
  peer: "",
  kind: "cost",
  target,
  ratio: value,
  spread: [value, value],
  unit,
});

/** A row that could not be measured. */
export const notMeasured = (row: RowPlan): Row => ({ ...row, ratio: NaN, spread: [NaN, NaN] });

/** Whether a row was measured. */
export const isMeasured = ({ ratio }: Row): boolean => !Number.isNaN(ratio);

/** Whether a row reaches its target; one that was not measured does not. */
export const reaches = ({ kind, ratio, target }: Row): boolean =>
  kind === "faster" ? ratio >= target : ratio <= target;

/** Keeps results alive. */
export const lastResult = (): unknown => sink;
