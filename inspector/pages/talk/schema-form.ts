/**
 * A form out of a JSON Schema: which fields it has, what stands in them at first, and what was meant by what is written. Texts,
 * numbers, yes or no and choices have fields of their own; anything else is written as JSON. The server judges the answer.
 */

type Members = Readonly<Record<string, unknown>>;

/** How a field is filled in. */
export type FieldKind = "text" | "long-text" | "number" | "integer" | "boolean" | "choice" | "json";

/** A field. */
export interface FormField {
  /** The property; the empty text where the answer itself is the value. */
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** What can be chosen, as JSON with the words for it. */
  readonly choices: readonly { readonly json: string; readonly words: string }[];
  readonly schema: Members;
  /** What stands in it at first. */
  readonly initial: string | boolean;
}

/** What is written in the fields, by name. */
export type Draft = Readonly<Record<string, string | boolean>>;

/**
 * A value as an object; anything else has no members. Names that every object has, such as `constructor`, are members only of
 * who says so.
 */
export const membersOf = (value: unknown): Members => ({
  __proto__: null,
  ...(typeof value === "object" && value !== null && !Array.isArray(value) ? value : {}),
});

/** A value in a line: a list as its items, an object as JSON, since `toString` may be a member of its own there. */
export const wordOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(wordOf).join(", ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
};

const LONG_TEXT = 200;

function kindOf({ type, enum: choices, oneOf, const: only, maxLength, format }: Members): FieldKind {
  if (Array.isArray(choices) || only !== undefined || isNamedChoice(oneOf)) return "choice";
  const known = Array.isArray(type) ? type.filter((each) => each !== "null") : [type];
  if (known.length !== 1) return "json";
  const [one] = known;
  if (one === "boolean" || one === "number" || one === "integer") return one;
  if (one !== "string") return "json";
  return format === "textarea" || (typeof maxLength === "number" && maxLength > LONG_TEXT) ? "long-text" : "text";
}

const isNamedChoice = (oneOf: unknown): oneOf is readonly unknown[] =>
  Array.isArray(oneOf) && oneOf.length > 0 && oneOf.every((each) => membersOf(each)["const"] !== undefined);

const words = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function choicesOf({ enum: choices, oneOf, const: only }: Members): FormField["choices"] {
  if (isNamedChoice(oneOf)) {
    return oneOf.map((each) => {
      const { const: value, title } = membersOf(each);
      return { json: JSON.stringify(value), words: typeof title === "string" ? title : words(value) };
    });
  }
  const values: readonly unknown[] = Array.isArray(choices) ? choices : only === undefined ? [] : [only];
  return values.map((value) => ({ json: JSON.stringify(value), words: words(value) }));
}

function initialOf(
  kind: FieldKind,
  value: unknown,
  isRequired: boolean,
  choices: FormField["choices"],
): string | boolean {
  if (kind === "boolean") return value === true;
  if (kind === "choice") {
    const json = JSON.stringify(value);
    return choices.some((choice) => choice.json === json) ? json : isRequired ? (choices[0]?.json ?? "") : "";
  }
  if (value === undefined || value === null) return "";
  if (kind === "text" || kind === "long-text") return typeof value === "string" ? value : JSON.stringify(value);
  return kind === "json" ? JSON.stringify(value, undefined, 2) : wordOf(value);
}

function fieldOf(name: string, schema: Members, value: unknown, isRequired: boolean): FormField {
  const kind = kindOf(schema);
  const choices = choicesOf(schema);
  const { title, description, default: usual } = schema;
  const label = typeof title === "string" ? title : name === "" ? "Answer" : wordsOf(name);
  const hint = typeof description === "string" ? description : undefined;
  return {
    name,
    label,
    hint,
    kind,
    isRequired,
    choices,
    schema,
    initial: initialOf(kind, value ?? usual, isRequired, choices),
  };
}

/** A name of a program's as words: `flightNumber` is Flight number. */
export function wordsOf(name: string): string {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .trim();
  return words === "" ? name : words[0]?.toUpperCase() + words.slice(1).toLowerCase();
}

/** What a schema comes to: what it refers to in the whole, and of a choice between something and nothing, the something. */
function meant(schema: unknown, whole: unknown, depth = 0): Members {
  const { $ref: reference, ...members } = membersOf(schema);
  if (depth > MAX_REFERENCES) return members;
  if (typeof reference === "string") {
    const steps = reference.startsWith("#/") ? reference.slice(2).split("/") : [];
    const found = steps.reduce<unknown>((value, step) => membersOf(value)[step], whole);
    return steps.length === 0 ? members : { ...meant(found, whole, depth + 1), ...members };
  }
  const { anyOf, oneOf, ...others } = members;
  const listed = anyOf ?? oneOf;
  const choices: readonly unknown[] = Array.isArray(listed) ? listed : [];
  const [one, another] = choices.filter((each) => membersOf(each)["type"] !== "null");
  if (one === undefined) return members;
  if (another === undefined && choices.length > 1) return { ...meant(one, whole, depth + 1), ...others };
  return isNamedChoice(anyOf) ? { ...others, oneOf: anyOf } : members;
}

/** References that refer to themselves end here. */
const MAX_REFERENCES = 20;

/** Whether the answer is an object of which nothing is known: one without members does, and nobody has to write it. */
export const isBareObject = ({ name, schema }: FormField): boolean => name === "" && schema["type"] === "object";

/** The fields for a schema; `whole` is what it refers to. One that is no object with properties gets a single field, without a name. */
export function fieldsOf(given: unknown, value?: unknown, whole: unknown = given): readonly FormField[] {
  const schema = meant(given, whole);
  const { properties, required } = schema;
  const fields = Object.entries(membersOf(properties));
  if (fields.length === 0) return [fieldOf("", schema, value, true)];
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return fields.map(([name, field]) =>
    fieldOf(name, meant(field, whole), membersOf(value)[name], needed.includes(name)),
  );
}

/** What stands in the fields at first. */
export const draftOf = (fields: readonly FormField[]): Draft =>
  Object.fromEntries(fields.map(({ name, initial }) => [name, initial]));

/** What was read off a form: its value, or a sentence for each field that cannot be read. */
export type Read =
  | { readonly value: unknown; readonly problems?: undefined }
  | { readonly problems: Readonly<Record<string, string>> };

/** Reads what is written. Fields that were left empty are left out. */
export function readDraft(fields: readonly FormField[], draft: Draft): Read {
  const problems: Record<string, string> = {};
  const read = fields.flatMap((field): [string, unknown][] => {
    const { value, problem } = readField(field, draft[field.name] ?? "");
    if (problem !== undefined) problems[field.name] = problem;
    return value === undefined ? [] : [[field.name, value]];
  });
  if (Object.keys(problems).length > 0) return { problems };
  if (fields.length === 1 && fields[0]?.name === "") return { value: read[0]?.[1] };
  return { value: Object.fromEntries(read) };
}

function readField(
  field: FormField,
  written: string | boolean,
): { readonly value?: unknown; readonly problem?: string } {
  const { kind, isRequired, label } = field;
  if (typeof written === "boolean") return { value: written };
  if (written.trim() === "") {
    if (isBareObject(field)) return { value: {} };
    return isRequired ? { problem: `${label} is needed.` } : {};
  }
  if (kind === "text" || kind === "long-text") return { value: written };
  if (kind === "number" || kind === "integer") {
    const number = Number(written);
    if (!Number.isFinite(number)) return { problem: `${label} has to be a number.` };
    if (kind === "integer" && !Number.isInteger(number)) return { problem: `${label} has to be a whole number.` };
    return { value: number };
  }
  try {
    return { value: JSON.parse(written) };
  } catch {
    return field.name === "" && membersOf(field.schema)["type"] === undefined
      ? { value: written }
      : { problem: `${label} is not JSON yet. Texts stand in quotes, names too.` };
  }
}
