/**
 * The agent `state` shares a plan with its client: steps that fill in as they are done.
 *
 * The plan is the shared state, so a client can show it, edit it and send it back: steps that are done stay done, and
 * steps of the client's own are worked on too. Each step is a step of the run, with an activity that shows how far it
 * is.
 */
import { defineAgent } from "heddle/agent";

interface Plan {
  title: string;
  steps: { title: string; done: boolean }[];
}

const PARTS = 4;

/** Fills in a plan. */
export const state = defineAgent<Plan>({
  name: "state",
  description: "Makes a plan and works through it.",
  capabilities: {
    state: { snapshots: true, deltas: true },
    custom: { examples: ["Bake a cake", "Plan a trip to Rome"] },
  },
  stateSchema: {
    type: "object",
    properties: {
      title: { type: "string" },
      steps: {
        type: "array",
        maxItems: 50,
        items: {
          type: "object",
          properties: { title: { type: "string" }, done: { type: "boolean" } },
          required: ["title", "done"],
        },
      },
    },
    required: ["title", "steps"],
  },
  async run({ input, emit, signal }) {
    const goal = input.messages.findLast(({ role }) => role === "user")?.content;
    if (!isPlan(emit.state.value)) {
      const title = typeof goal === "string" && goal !== "" ? goal : "Bake a cake";
      const steps = ["Gather what is needed", "Prepare", "Do it", "Check the result"];
      await emit.state.set({ title, steps: steps.map((step) => ({ title: step, done: false })) });
    }
    const { steps } = emit.state.value;
    for (const [index, { title, done }] of steps.entries()) {
      if (done) continue;
      signal.throwIfAborted();
      await emit.step(`${index + 1}. ${title}`, async () => {
        const progress = emit.activity("PROGRESS", { title, part: 0, of: PARTS });
        for (let part = 1; part <= PARTS; part++) await progress.update((draft) => ({ ...draft, part }));
        await emit.state.update((plan) => {
          const step = plan.steps[index];
          if (step !== undefined) step.done = true;
        });
      });
    }
    await emit.text().write(`“${emit.state.value.title}” is done, in ${steps.length} steps.`);
  },
});

/** Whether what the client sent is a plan. */
function isPlan(value: unknown): value is Plan {
  if (typeof value !== "object" || value === null || !("title" in value) || !("steps" in value)) return false;
  return typeof value.title === "string" && Array.isArray(value.steps) && value.steps.every(isStep);
}

const isStep = (step: unknown): boolean =>
  typeof step === "object" && step !== null && typeof Reflect.get(step, "title") === "string";
