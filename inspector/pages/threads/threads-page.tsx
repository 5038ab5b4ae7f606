/**
 * The page Threads: every conversation, live, to find, name, put aside, copy and delete, one or several at once. What is looked
 * for stands in the address.
 */
import { useEffect, useRef, useState } from "react";
import type { DragEvent, ReactElement } from "react";
import { linkTo, useQueryValue } from "../../route.ts";
import { useConnection } from "../../server/connection.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Loading } from "../../ui/loading.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { ThreadRows } from "./thread-rows.tsx";
import { useThreadList } from "./use-thread-list.ts";
import type { ListHandle } from "./use-thread-list.ts";
import type { Rights } from "./thread-row.tsx";
import "./threads-page.css";

/** Which conversations, by what stands in the address. */
const SHELVES = { "": "Current", true: "Archived", any: "All" } as const;

const isShelf = (text: string): text is keyof typeof SHELVES => Object.hasOwn(SHELVES, text);

const DEBOUNCE_MS = 250;

/** The page. */
export function ThreadsPage(): ReactElement {
  const { me } = useConnection();
  const [q] = useQueryValue("q");
  const [archived] = useQueryValue("archived");
  const shelf = isShelf(archived) ? archived : "";
  const list = useThreadList(q, shelf === "" ? undefined : shelf === "true" ? true : shelf);
  const [files, setFiles] = useState<readonly File[]>([]);
  const rights = { mayChange: me.mayStart, mayCopy: me.mayOperate };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    if (rights.mayCopy) setFiles([...event.dataTransfer.files]);
  };
  return (
    <>
      <PageHeader title="Threads" text="Every conversation that you may see, live.">
        <ImportButton rights={rights} onFiles={setFiles} />
      </PageHeader>
      <div className="page-body threads-body" onDragOver={(event) => event.preventDefault()} onDrop={onDrop}>
        <div className="threads-bar">
          <SearchText />
          <Shelves />
        </div>
        {!rights.mayChange && (
          <p className="threads-note">
            <Icon name="info" size={16} /> You may look, and change nothing: your role is {me.role ?? "not set"}. Ask
            for the role collaborator or owner.
          </p>
        )}
        <Content list={list} rights={rights} isFiltered={q !== "" || shelf === "true"} onFiles={setFiles} />
      </div>
      {files.length > 0 && <ImportDialog files={files} onClose={() => setFiles([])} />}
    </>
  );
}

function Content({
  list,
  rights,
  isFiltered,
  onFiles,
}: {
  readonly list: ListHandle;
  readonly rights: Rights;
  readonly isFiltered: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}): ReactElement {
  const { threads, error } = list;
  if (error !== undefined) return <ErrorState title="Threads cannot be listed" error={error} onRetry={list.retry} />;
  if (threads === undefined) return <Loading label="Looking for conversations" />;
  if (threads.length > 0) return <ThreadRows list={list} threads={threads} rights={rights} />;
  return isFiltered ? <NoMatch /> : <Nothing rights={rights} onFiles={onFiles} />;
}

function NoMatch(): ReactElement {
  const [q] = useQueryValue("q");
  const [archived] = useQueryValue("archived");
  const where = archived === "true" ? " among archived conversations" : "";
  return (
    <EmptyState
      icon="search"
      title={q === "" ? "Nothing is archived" : "Nothing found"}
      text={
        q === ""
          ? "Conversations that you archive are kept here, with all that was said in them."
          : `No id or title has “${q.length > 80 ? `${q.slice(0, 80)}…` : q}” in it${where}.`
      }
    >
      <LinkButton href={linkTo("threads")}>Show all current ones</LinkButton>
      {q !== "" && archived !== "any" && (
        <LinkButton href={linkTo("threads", undefined, { q, archived: "any" })}>Search archived ones too</LinkButton>
      )}
    </EmptyState>
  );
}

function Nothing({
  rights,
  onFiles,
}: {
  readonly rights: Rights;
  readonly onFiles: (files: readonly File[]) => void;
}): ReactElement {
  return (
    <EmptyState
      icon="threads"
      title="No conversations yet"
      text="What is said to any agent of this server is listed here, whoever says it and with whichever client."
    >
      {rights.mayChange && (
        <LinkButton kind="primary" icon="talk" href={linkTo("talk")}>
          Start a conversation
        </LinkButton>
      )}
      {rights.mayCopy && <ImportButton rights={rights} onFiles={onFiles} />}
    </EmptyState>
  );
}

/** What is searched for: the address follows when nothing was typed for a moment, and is followed where it changes. */
function SearchText(): ReactElement {
  const [q, setQ] = useQueryValue("q");
  const [text, setText] = useState(q);
  const sent = useRef(q);
  useEffect(() => {
    if (q !== sent.current) {
      sent.current = q;
      setText(q);
    }
  }, [q]);
  useEffect(() => {
    if (text === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = text;
      setQ(text);
    }, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text, setQ]);
  return <SearchField label="Search titles and ids" value={text} onChange={setText} />;
}

function Shelves(): ReactElement {
  const [archived, setArchived] = useQueryValue("archived");
  const shelf = isShelf(archived) ? archived : "";
  return (
    <fieldset className="threads-shelves">
      <legend className="visually-hidden">Which conversations</legend>
      {Object.entries(SHELVES).map(([value, word]) => (
        <label key={value}>
          <input
            type="radio"
            name="shelf"
            checked={value === shelf}
            onChange={() => setArchived(value, { push: true })}
          />
          <span>{word}</span>
        </label>
      ))}
    </fieldset>
  );
}

function ImportButton({
  rights,
  onFiles,
}: {
  readonly rights: Rights;
  readonly onFiles: (files: readonly File[]) => void;
}): ReactElement {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        hidden
        type="file"
        multiple
        accept=".ndjson,.jsonl,application/x-ndjson"
        aria-label="Files to import"
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <Button
        icon="upload"
        disabled={!rights.mayCopy}
        title={rights.mayCopy ? "Or drop files on the page" : "Importing needs the role operator."}
        onClick={() => input.current?.click()}
      >
        Import
      </Button>
    </>
  );
}
