/** Writes one factory per event. */
import { HEADER, camelCase, events, objectNamed } from "./outline.ts";

export function writeFactories(): string {
  const imports = events.map(({ name }) => `  ${name},`).join("\n");
  const factories = events.map(
    ({ name, type }) => `/** ${objectNamed(name).doc} */
export const ${camelCase(type)} = (fields: Omit<${name}, "type">): ${name} => create<${name}>("${type}", fields);`,
  );
  return `${HEADER}
import { create } from "../create.ts";
import type {
${imports}
} from "./model.ts";

${factories.join("\n\n")}
`;
}
