/** What is in a message beside text: images, sounds, films and documents. What comes along is shown, what is elsewhere is a link. */
import type { ReactElement } from "react";
import type { ContentPart, Message } from "heddle/protocol";
import { Icon } from "../../ui/icon.tsx";
import { formatBytes } from "../../ui/format.ts";
import { fileNameOf } from "./attachments.ts";
import type { MediaPart } from "./attachments.ts";
import "./parts.css";

/** The text of a message; empty where it has none. */
export function textOf(content: Message["content"]): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** The parts of a message that are no text. */
export function mediaOf(content: Message["content"]): readonly MediaPart[] {
  const parts: readonly ContentPart[] = Array.isArray(content) ? content : [];
  return parts.filter((part): part is MediaPart => part.type !== "text");
}

/** Parts of a message. */
export function Parts({ parts }: { readonly parts: readonly MediaPart[] }): ReactElement | null {
  if (parts.length === 0) return null;
  return (
    <ul className="talk-parts" aria-label="Attachments">
      {parts.map((part, index) => (
        // Parts have no ids, and never move.
        <li key={index}>
          <Part part={part} />
        </li>
      ))}
    </ul>
  );
}

/** What of a data URL a browser draws without running anything in it. */
const DRAWN = /^image\/(?:png|jpe?g|gif|webp|avif|bmp|svg\+xml)$/i;

function Part({ part }: { readonly part: MediaPart }): ReactElement {
  const { source } = part;
  const name = fileNameOf(part);
  if (source.type === "url") {
    return (
      <a className="talk-file" href={safeLink(source.value)} target="_blank" rel="noreferrer">
        <Icon name="link" size={16} />
        <span>{name}</span>
        <small>{part.type} elsewhere</small>
      </a>
    );
  }
  if (source.type === "file") {
    return (
      <p className="talk-file">
        <Icon name="attach" size={16} />
        <span>{name}</span>
        <small>held by {source.provider ?? "the model's provider"}</small>
      </p>
    );
  }
  const url = `data:${source.mimeType};base64,${source.value}`;
  if (part.type === "image" && DRAWN.test(source.mimeType)) return <img className="talk-image" src={url} alt={name} />;
  if (part.type === "audio") return <audio controls src={url} aria-label={name} />;
  if (part.type === "video") return <video className="talk-image" controls src={url} aria-label={name} />;
  return (
    <a className="talk-file" href={url} download={name}>
      <Icon name="download" size={16} />
      <span>{name}</span>
      <small>{formatBytes(bytesIn(source.value))}</small>
    </a>
  );
}

/** How many bytes a text in base64 holds. */
const bytesIn = (text: string): number => Math.floor((text.replace(/=+$/, "").length * 3) / 4);

const safeLink = (url: string): string | undefined => (/^https?:/i.test(url) ? url : undefined);
