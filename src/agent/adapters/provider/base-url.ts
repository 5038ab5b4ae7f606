/** The address of a provider's API: a mistake in it shows when the model is made, not in the first run. */
import { HeddleError } from "../../../protocol/index.ts";

/** The address without slashes at its end. Throws `config-invalid` where it is none. */
export function checkBaseUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return url.replace(/\/+$/, "");
  const expected = "an address that begins with http:// or https://";
  throw new HeddleError("config-invalid", `The base URL of the model is no address: expected ${expected}.`, {
    setting: "baseUrl",
    expected,
    received: JSON.stringify(url),
  });
}
