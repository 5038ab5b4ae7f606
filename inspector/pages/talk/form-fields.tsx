/** Fields that were made of a schema. */
import { useId } from "react";
import type { ReactElement } from "react";
import { isBareObject } from "./schema-form.ts";
import type { Draft, FormField } from "./schema-form.ts";
import "../../ui/field.css";
import "./form-fields.css";

interface FieldProps {
  readonly field: FormField;
  readonly value: string | boolean;
  readonly problem: string | undefined;
  readonly onChange: (value: string | boolean) => void;
}

const isNeeded = (field: FormField): boolean => field.isRequired && !isBareObject(field);

/** Fields, what is written in them, and what is wrong with it. */
export function FormFields({
  fields,
  draft,
  problems,
  onChange,
}: {
  readonly fields: readonly FormField[];
  readonly draft: Draft;
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: (draft: Draft) => void;
}): ReactElement {
  return (
    <>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={draft[field.name] ?? ""}
          problem={Object.hasOwn(problems, field.name) ? problems[field.name] : undefined}
          onChange={(value) => onChange({ ...draft, [field.name]: value })}
        />
      ))}
    </>
  );
}

function Field(props: FieldProps): ReactElement {
  const { field, problem } = props;
  const id = useId();
  const note = problem ?? field.hint;
  return (
    <div className="form-field" data-kind={field.kind}>
      <label htmlFor={id}>
        {field.label}
        {!isNeeded(field) && field.kind !== "boolean" && <small>optional</small>}
        {field.kind === "json" && <small>JSON</small>}
      </label>
      <Control {...props} id={id} />
      {note !== undefined && (
        <p id={`${id}-note`} data-problem={problem !== undefined} role={problem === undefined ? undefined : "alert"}>
          {note}
        </p>
      )}
    </div>
  );
}

function Control({ field, value, problem, onChange, id }: FieldProps & { readonly id: string }): ReactElement {
  const { kind, isRequired, choices, schema, hint } = field;
  const shared = {
    id,
    "aria-invalid": problem !== undefined,
    ...((problem ?? hint) !== undefined && { "aria-describedby": `${id}-note` }),
  };
  if (kind === "boolean") {
    const isOn = value === true;
    return (
      <input {...shared} type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
    );
  }
  const text = String(value);
  const given = { ...shared, className: "field", value: text, "aria-required": isNeeded(field) };
  if (kind === "choice") {
    return (
      <select {...given} onChange={(event) => onChange(event.currentTarget.value)}>
        {!isRequired && <option value="">None</option>}
        {choices.map(({ json, words }) => (
          <option key={json} value={json}>
            {words}
          </option>
        ))}
      </select>
    );
  }
  if (kind === "json" || kind === "long-text") {
    const rows = Math.min(10, Math.max(2, text.split("\n").length));
    return (
      <textarea
        {...given}
        rows={rows}
        spellCheck={kind !== "json"}
        data-code={kind === "json"}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  const { minimum, maximum } = schema;
  const numeric = {
    type: "number",
    step: kind === "integer" ? 1 : "any",
    ...(typeof minimum === "number" && { min: minimum }),
    ...(typeof maximum === "number" && { max: maximum }),
  };
  return (
    <input
      {...given}
      {...(kind === "text" ? { type: "text" } : numeric)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
