/**
 * Interfaces that agents describe instead of drawing them, as one tree of components: A2UI in both of its forms (components by
 * id with a root and a data model), and trees of `type`, `props` and `children`. Only what is described is read; nothing runs.
 */
import { membersOf, wordOf } from "./schema-form.ts";

/** A component. */
export interface UiNode {
  /** Its type, as the agent calls it. */
  readonly type: string;
  /** Its properties, with values of the data model in place of where they come from. */
  readonly props: Readonly<Record<string, unknown>>;
  readonly children: readonly UiNode[];
}

interface Surface {
  /** How many components its tree has so far. */
  nodes: number;
  readonly components: Map<string, { readonly type: string; readonly props: Readonly<Record<string, unknown>> }>;
  data: unknown;
  root: string | undefined;
}

/** Components that a component names, by the property that it does so with. */
const CHILD_KEYS = new Set(["children", "child", "entryPointChild", "contentChild", "trigger", "content"]);
/** Parts of a component, each a title with a component below it. */
const TAB_KEYS = new Set(["tabs", "tabItems"]);
const MAX_DEPTH = 40;
/** A surface is drawn as far as this: components that contain themselves twice would never end. */
const MAX_NODES = 2000;

/** The surfaces that operations of A2UI lead to, as trees. */
export function readSurfaces(content: unknown): readonly UiNode[] {
  const surfaces = new Map<string, Surface>();
  const surfaceOf = (id: unknown): Surface => {
    const name = wordOf(id);
    const surface = surfaces.get(name) ?? { components: new Map(), data: {}, root: undefined, nodes: 0 };
    surfaces.set(name, surface);
    return surface;
  };
  for (const operation of operationsIn(content)) {
    for (const [name, value] of Object.entries(membersOf(operation))) {
      const told = membersOf(value);
      if (name === "deleteSurface") surfaces.delete(wordOf(told["surfaceId"]));
      else if (OPERATIONS.has(name)) apply(surfaceOf(told["surfaceId"]), name, told);
    }
  }
  return [...surfaces.values()].flatMap((surface) => {
    const tree = nodeOf(surface, rootOf(surface), "", 0);
    return tree === undefined ? [] : [tree];
  });
}

const OPERATIONS = new Set([
  "surfaceUpdate",
  "updateComponents",
  "dataModelUpdate",
  "updateDataModel",
  "beginRendering",
  "createSurface",
]);

function operationsIn(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  const members = membersOf(content);
  for (const name of ["a2ui_operations", "operations", "messages"]) {
    const list = members[name];
    if (Array.isArray(list)) return list;
  }
  return [content];
}

function apply(surface: Surface, name: string, told: Readonly<Record<string, unknown>>): void {
  const { components, root, path, contents, value } = told;
  if (typeof root === "string") surface.root = root;
  for (const component of Array.isArray(components) ? components : []) {
    const { id, component: described, ...others } = membersOf(component);
    if (typeof described === "string") surface.components.set(wordOf(id), { type: described, props: others });
    const [first] = Object.entries(membersOf(described));
    if (first !== undefined) surface.components.set(wordOf(id), { type: first[0], props: membersOf(first[1]) });
  }
  if (name === "dataModelUpdate") surface.data = put(surface.data, path, entriesOf(contents));
  if (name === "updateDataModel") surface.data = put(surface.data, path, value);
}

/** The older form tells of values as a list, each under a name for its type. */
function entriesOf(contents: unknown): unknown {
  if (!Array.isArray(contents)) return contents;
  return Object.fromEntries(
    contents.map((entry) => {
      const { key, ...value } = membersOf(entry);
      const [name, given] = Object.entries(value)[0] ?? [];
      return [wordOf(key), name === "valueMap" || name === "valueArray" ? entriesOf(given) : given];
    }),
  );
}

const stepsOf = (path: unknown): readonly string[] =>
  typeof path === "string" ? path.split("/").filter((step) => step !== "") : [];

/** What is told takes the place of what was there; a list gets no holes. */
function put(data: unknown, path: unknown, value: unknown): unknown {
  const [first, ...others] = stepsOf(path);
  if (first === undefined) return value;
  if (Array.isArray(data)) {
    const place = /^\d+$/.test(first) ? Number(first) : Infinity;
    return place > data.length ? data : data.toSpliced(place, 1, put(data[place], others.join("/"), value));
  }
  const members = membersOf(data);
  return { ...members, [first]: put(members[first], others.join("/"), value) };
}

function at(data: unknown, path: string): unknown {
  return stepsOf(path).reduce<unknown>((value, step) => Object(value)[step], data);
}

function rootOf({ root, components }: Surface): string {
  if (root !== undefined) return root;
  return components.has("root") ? "root" : (components.keys().next().value ?? "");
}

function nodeOf(surface: Surface, id: string, scope: string, depth: number): UiNode | undefined {
  const component = surface.components.get(id);
  if (component === undefined || depth > MAX_DEPTH || surface.nodes >= MAX_NODES) return undefined;
  surface.nodes += 1;
  const children: UiNode[] = [];
  const props: Record<string, unknown> = {};
  const add = (child: unknown, where = scope): void => {
    const node = typeof child === "string" ? nodeOf(surface, child, where, depth + 1) : undefined;
    if (node !== undefined) children.push(node);
  };
  for (const [name, value] of Object.entries(component.props)) {
    if (CHILD_KEYS.has(name) && addChildren(surface, value, scope, add)) continue;
    if (TAB_KEYS.has(name) && Array.isArray(value)) {
      for (const { title, child } of value.map(membersOf)) {
        const text = resolved(surface, title, scope);
        if (text !== undefined) children.push({ type: "Text", props: { text, usageHint: "h4" }, children: [] });
        add(child);
      }
      continue;
    }
    props[name] = resolved(surface, value, scope);
  }
  return { type: component.type, props, children };
}

/** Adds the components that a value names; false where it names none. */
function addChildren(
  surface: Surface,
  value: unknown,
  scope: string,
  add: (id: unknown, where?: string) => void,
): boolean {
  if (typeof value === "string") {
    if (!surface.components.has(value)) return false;
    add(value);
    return true;
  }
  const { explicitList, template, componentId, path } = membersOf(value);
  const list = Array.isArray(value) ? value : explicitList;
  if (Array.isArray(list)) {
    for (const id of list) add(id);
    return true;
  }
  const repeated = membersOf(template ?? (componentId === undefined ? undefined : { componentId, dataBinding: path }));
  const binding = repeated["dataBinding"];
  if (typeof binding !== "string") return false;
  const where = binding.startsWith("/") ? binding : `${scope}/${binding}`;
  for (const key of Object.keys(Object(at(surface.data, where)))) add(repeated["componentId"], `${where}/${key}`);
  return true;
}

const LITERALS = ["literalString", "literalNumber", "literalBoolean", "literalArray", "literal"];

function resolved(surface: Surface, value: unknown, scope: string): unknown {
  const members = membersOf(value);
  const literal = LITERALS.find((name) => members[name] !== undefined);
  if (literal !== undefined) return members[literal];
  const { path } = members;
  if (typeof path !== "string" || Object.keys(members).length !== 1) return value;
  return at(surface.data, path.startsWith("/") ? path : `${scope}/${path}`);
}

/** A tree of `type`, `props` and `children`, where it is one. */
export function readTree(value: unknown, depth = 0): UiNode | undefined {
  const { type, props, children } = membersOf(value);
  if (typeof type !== "string" || depth > MAX_DEPTH) return undefined;
  if (props === undefined && !Array.isArray(children)) return undefined;
  const list: readonly unknown[] = Array.isArray(children) ? children : [];
  const nodes = list.map((child) =>
    typeof child === "string" ? { type: "text", props: { text: child }, children: [] } : readTree(child, depth + 1),
  );
  if (nodes.some((node) => node === undefined)) return undefined;
  return { type, props: membersOf(props), children: nodes.filter((node) => node !== undefined) };
}
