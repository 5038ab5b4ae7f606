/** The inspector: the page at `/`. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { applyTheme } from "./theme.ts";
import "./styles/tokens.css";
import "./styles/kinds.css";
import "./styles/base.css";

applyTheme();
const root = document.querySelector("#root");
if (root === null) throw new Error("The page has no #root.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
