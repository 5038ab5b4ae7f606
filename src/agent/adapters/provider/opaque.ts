/**
 * What only its issuer can read: signatures, encrypted reasoning, blocks of the provider's own tools.
 *
 * It travels as the `encryptedValue` of a message or tool call and names its issuer itself, so that a peer that drops
 * `encryptedValueType` (1.1) cannot make us hand one provider's secret to another. Whoever is not the issuer gets
 * nothing.
 */
import { isRecord, parseRecord } from "./fields.ts";

/** A block as its provider issued it. */
export type Block = Readonly<Record<string, unknown>>;

/** A message or tool call that may carry a sealed block. */
export interface Carrier {
  /** The sealed block, where there is one. */
  readonly encryptedValue?: string;
}

/** The fields of a message, or of REASONING_ENCRYPTED_VALUE, that carry a block. */
export function seal(issuer: string, block: Block): { encryptedValue: string; encryptedValueType: string } {
  const type = typeof block["type"] === "string" ? block["type"] : "value";
  return { encryptedValue: JSON.stringify({ issuer, block }), encryptedValueType: `${issuer}.${type}` };
}

/** The block that this issuer sealed; undefined where there is none, or another one issued it. */
export function unseal(issuer: string, { encryptedValue }: Carrier): Block | undefined {
  if (encryptedValue === undefined) return undefined;
  const sealed = parseRecord(encryptedValue);
  return sealed?.["issuer"] === issuer && isRecord(sealed["block"]) ? sealed["block"] : undefined;
}
