/**
 * A form out of a JSON Schema, as far as questions need one: texts, numbers, yes or no, a choice. Anything else is edited as
 * JSON. The fields keep their own values; `readFields` reads them off the form. What does not fit is refused by the server.
 */
import { useId } from "react";
import type { ReactElement } from "react";

type Schema = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Schema => Object(value);

/** The fields of a schema, by name. */
export const fieldsOf = (schema: unknown): readonly (readonly [name: string, field: Schema])[] =>
  Object.entries(membersOf(membersOf(schema)["properties"])).map(([name, field]) => [name, membersOf(field)]);

/** What is edited. */
export interface SchemaFieldsProps {
  /** Schema of an object. */
  readonly schema: unknown;
  /** The object as it is. */
  readonly value?: unknown;
}

/** A labelled field for each property. */
export function SchemaFields({ schema, value }: SchemaFieldsProps): ReactElement {
  const required: unknown = membersOf(schema)["required"];
  return (
    <>
      {fieldsOf(schema).map(([name, field]) => (
        <Field
          key={name}
          name={name}
          field={field}
          value={membersOf(value)[name] ?? field["default"]}
          isRequired={Array.isArray(required) && required.includes(name)}
        />
      ))}
    </>
  );
}

interface FieldProps {
  readonly name: string;
  readonly field: Schema;
  readonly value: unknown;
  readonly isRequired: boolean;
}

function Field({ name, field, value, isRequired }: FieldProps): ReactElement {
  const id = useId();
  const { title, description } = field;
  return (
    <div data-part="field">
      <label htmlFor={id}>{String(title ?? description ?? name)}</label>
      <Control id={id} name={name} field={field} value={value} isRequired={isRequired} />
    </div>
  );
}

function Control({ id, name, field, value, isRequired }: FieldProps & { readonly id: string }): ReactElement {
  const shared = { id, name, required: isRequired };
  const { enum: choices, type, minimum, maximum } = field;
  if (Array.isArray(choices)) {
    return (
      <select {...shared} defaultValue={JSON.stringify(value)}>
        {choices.map((choice: unknown) => (
          <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
            {String(choice)}
          </option>
        ))}
      </select>
    );
  }
  if (type === "boolean") return <input {...shared} required={false} type="checkbox" defaultChecked={value === true} />;
  if (type === "number" || type === "integer") {
    const limits = {
      ...(typeof minimum === "number" && { min: minimum }),
      ...(typeof maximum === "number" && { max: maximum }),
    };
    const step = type === "integer" ? 1 : "any";
    return (
      <input
        {...shared}
        {...limits}
        type="number"
        step={step}
        defaultValue={value === undefined ? "" : String(value)}
      />
    );
  }
  if (type === "string")
    return <input {...shared} type="text" defaultValue={value === undefined ? "" : String(value)} />;
  return <textarea {...shared} defaultValue={value === undefined ? "" : JSON.stringify(value, undefined, 2)} />;
}

/** What a form holds for a schema. Fields that were left empty are left out. Throws where JSON cannot be read. */
export function readFields(schema: unknown, form: HTMLFormElement): Record<string, unknown> {
  const written = new FormData(form);
  const entries = fieldsOf(schema).flatMap(([name, { type, enum: choices }]) => {
    const text = written.get(name);
    if (type === "boolean" && choices === undefined) return [[name, text !== null]];
    if (typeof text !== "string" || text === "") return [];
    return [[name, type === "string" && choices === undefined ? text : JSON.parse(text)]];
  });
  return Object.fromEntries(entries);
}
