/** The name under which this adapter seals values and prefixes names, so that it knows its own again. */
export const ISSUER = "ai-sdk";
