/** Every generated file with the text that it should have now. */
import { writeApi } from "./write-api.ts";
import { writeFactories } from "./write-factories.ts";
import { writeModel } from "./write-model.ts";
import { writeSchema } from "./write-schema.ts";
import { writeCapabilityShapes, writeShapes } from "./write-shapes.ts";

export function generatedFiles(): readonly { readonly path: string; readonly text: string }[] {
  return [
    { path: "src/protocol/generated/model.ts", text: writeModel() },
    { path: "src/protocol/generated/shapes.ts", text: writeShapes() },
    { path: "src/protocol/generated/capability-shapes.ts", text: writeCapabilityShapes() },
    { path: "src/protocol/generated/factories.ts", text: writeFactories() },
    { path: "src/protocol/generated/definition-schemas.ts", text: writeSchema() },
    ...writeApi(),
  ];
}
