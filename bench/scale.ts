/**
 * The rows of issue 8 on more than one instance: the runs that two carry against one, on one PostgreSQL; and how much later
 * an event is delivered by the other instance than by the one that executes the run.
 *
 * Whoever asks, the instances and PostgreSQL share the cores of one machine. So the table is preceded by what each of them
 * spent, what was the limit, and how much dearer a run is on two instances, each of which commits and hints by itself.
 */
import { availableParallelism, cpus } from "node:os";
import { realPostgres } from "../test/real-postgres.ts";
import { Child } from "./child.ts";
import { compareTimes, median } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { inTurn } from "./in-turn.ts";
import { postToEnd, timeOf } from "./post.ts";
import { postgresCpu } from "./postgres-cpu.ts";
import { delivery } from "./scale-delivery.ts";
import { asking, bodyOf, newId, ours } from "./server-runs.ts";

/** Runs at a time. */
const PARALLEL = 32;
/** Words of a run. */
const DELTAS = 200;
/** A part of the machine that is busy for so much of the time is the limit. */
const BUSY = 0.85;

/** What carrying some runs took. */
interface Load {
  readonly wallMs: number;
  readonly instancesMs: readonly number[];
  readonly postgresMs: number;
  readonly askingMs: number;
  /** Part of the time of all cores in which nobody wanted them. */
  readonly idle: number;
}

/** Measures instances side by side. */
export async function scaleRows(effort: Effort): Promise<readonly Row[]> {
  const postgres = await realPostgres({ own: true });
  const instances = await Promise.all([0, 1].map(() => Child.start("scale-child.ts", [postgres.url])));
  try {
    const cpu = await postgresCpu(postgres.url);
    return await inTurn([() => carrying(instances, cpu, effort), () => delivery(instances, effort)]);
  } finally {
    await Promise.all(instances.map((instance) => instance.stop()));
    await postgres.stop();
  }
}

async function carrying(instances: readonly Child[], postgresMs: () => number, effort: Effort): Promise<Row> {
  const runs = effort.quick ? 128 : 384;
  const [first] = instances;
  const loads = new Map<readonly Child[], Load[]>([[instances, []]]);
  const alone = first === undefined ? [] : [first];
  loads.set(alone, []);
  const carry = async (targets: readonly Child[]): Promise<number> => {
    const load = await loaded(instances, postgresMs, () => runAll(targets, runs));
    loads.get(targets)?.push(load);
    return load.wallMs;
  };
  const row = await compareTimes(
    { what: `${PARALLEL} runs at a time on two instances`, peer: "one instance", kind: "faster", target: 1.5 },
    () => carry(instances),
    () => carry(alone),
    { rounds: effort.quick ? 3 : 7, samples: 1 },
  );
  for (const [targets, all] of loads) console.log(said(targets.length, runs, all));
  // Where a run costs more on two, more cores alone do not make two carry twice as much.
  const cost = (targets: readonly Child[]): number => median((loads.get(targets) ?? []).map(spentMs));
  console.log(`a run costs ${(cost(instances) / cost(alone)).toFixed(2)} times as much on two instances as on one`);
  return row;
}

async function runAll(targets: readonly Child[], runs: number): Promise<void> {
  let asked = 0;
  const client = async (): Promise<void> => {
    while (asked < runs) {
      const target = targets[asked++ % targets.length];
      if (target !== undefined) await postToEnd(ours(target), bodyOf(newId("thread"), [asking()], { deltas: DELTAS }));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, client));
}

async function loaded(instances: readonly Child[], postgresMs: () => number, work: () => Promise<void>): Promise<Load> {
  const spent = (): Promise<readonly number[]> => Promise.all(instances.map((instance) => instance.ask("cpuMs")));
  const before = { instances: await spent(), postgres: postgresMs(), asking: askingMs(), cores: coresMs() };
  const wallMs = await timeOf(work);
  const after = { instances: await spent(), postgres: postgresMs(), asking: askingMs(), cores: coresMs() };
  return {
    wallMs,
    instancesMs: after.instances.map((ms, index) => ms - (before.instances[index] ?? 0)),
    postgresMs: after.postgres - before.postgres,
    askingMs: after.asking - before.asking,
    idle: (after.cores.idle - before.cores.idle) / (after.cores.all - before.cores.all),
  };
}

/** What this process has spent on a processor. */
function askingMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What the cores did so far. */
function coresMs(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((core) => core.times);
  const all = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  return { idle: times.reduce((sum, { idle }) => sum + idle, 0), all };
}

/** What instances and PostgreSQL spent. */
const spentMs = ({ instancesMs, postgresMs }: Load): number =>
  instancesMs.reduce((sum, ms) => sum + ms, Number.isNaN(postgresMs) ? 0 : postgresMs);

/** What was carried, at which price, and why not more. */
function said(count: number, runs: number, loads: readonly Load[]): string {
  const cores = availableParallelism();
  const of = (pick: (load: Load) => number): number => median(loads.map(pick));
  const rate = (1000 * runs) / of(({ wallMs }) => wallMs);
  const each = [0, 1].slice(0, count).map((index) => of((load) => (load.instancesMs[index] ?? 0) / load.wallMs));
  const [postgres, asks] = [of((load) => load.postgresMs / load.wallMs), of((load) => load.askingMs / load.wallMs)];
  const instances = each.reduce((sum, part) => sum + part, 0);
  const all = instances + postgres + asks;
  const perRun = (part: number): string => ((part * 1000) / rate).toFixed(1);
  const isFull = of(({ idle }) => idle) < 1 - BUSY;
  const limit = isFull
    ? `the limit is the machine, ${all > BUSY * cores ? "by this alone" : "others keep it busy too"}`
    : each.every((part) => part > BUSY)
      ? "the limit is the instance, whose core is busy"
      : "no core is the limit";
  return (
    `${count === 1 ? "one instance" : "two instances"}: ${rate.toFixed(0)} runs/s of ${DELTAS} words. ` +
    `A run costs ${perRun(instances)} ms of instances, ${perRun(postgres)} of PostgreSQL, ${perRun(asks)} of who asks; ` +
    `busy cores: ${each.map((part) => part.toFixed(2)).join(" + ")}, ${postgres.toFixed(2)}, ${asks.toFixed(2)} of ${cores}: ${limit}`
  );
}
