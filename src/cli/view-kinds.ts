/** What the setting of views may hold: for each role, whether it may ask for what is hidden, and what it does not see. */
import { ROLES } from "../server/index.ts";
import type { ViewRules, Views } from "../server/index.ts";
import { flag, isRecord, jsonText, list, text, wrongValueAt } from "./setting-kinds.ts";
import type { Kind } from "./setting-kinds.ts";

const RULES: ReadonlyMap<string, Kind<unknown>> = new Map<keyof ViewRules, Kind<unknown>>([
  ["raw", flag],
  ["reasoning", flag],
  ["hiddenState", list(text)],
]);

/** What each role gets to see; as text, JSON. */
export const views: Kind<Views> = {
  fromText: jsonText,
  read(place, value) {
    if (!isRecord(value)) throw wrongValueAt(place, value, "an object of roles and what they see");
    return Object.fromEntries(
      Object.entries(value).map(([name, rules]) => {
        if (!ROLES.some((role) => role === name)) {
          throw wrongValueAt(`${place}/${name}`, rules, `nothing: the roles are ${ROLES.join(", ")}`);
        }
        return [name, rulesOf(`${place}/${name}`, rules)];
      }),
    );
  },
};

function rulesOf(place: string, value: unknown): ViewRules {
  if (!isRecord(value)) throw wrongValueAt(place, value, "an object of rules");
  return Object.fromEntries(
    Object.entries(value).map(([name, rule]) => {
      const kind = RULES.get(name);
      if (kind === undefined) {
        throw wrongValueAt(`${place}/${name}`, rule, `nothing: the rules are ${[...RULES.keys()].join(", ")}`);
      }
      return [name, kind.read(`${place}/${name}`, rule)];
    }),
  );
}
