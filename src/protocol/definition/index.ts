/** AG-UI 1.0 with 1.1's `encryptedValueType`, and META: the one source of types, validators, factories and schema. */
import { eventDefinitions } from "./events.ts";
import { valueDefinitions } from "./values.ts";
import type { Definitions } from "./shape.ts";

export type {
  AliasDefinition,
  Definition,
  Definitions,
  EnumDefinition,
  Field,
  Fields,
  ObjectDefinition,
  Shape,
  UnionDefinition,
} from "./shape.ts";

/** Every definition, by name. */
export const definitions: Definitions = { ...eventDefinitions, ...valueDefinitions };
