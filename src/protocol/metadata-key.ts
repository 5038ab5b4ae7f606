/** The key in `metadata` under which Heddle keeps what AG-UI has no place for (PROTO-KEPT-1). */
export const METADATA_KEY = "heddle";
