/** What the page says: about each kind of agent, and about the connection. */

/** By agent type. */
export const ABOUT = {
  SimpleAgent: {
    name: "Chat",
    title: "Talk to the chat agent",
    text: "It answers in text, word by word, and remembers what you said before.",
    suggestions: ["My name is Ada", "What is my name?", "What did I say so far?", "Fail, please"],
  },
  ToolsAgent: {
    name: "Tools",
    title: "Ask the agent with tools",
    text: "It looks up the weather and calculates. You see each call, and what came back.",
    suggestions: [
      "What is the weather in Paris, and what is 17*23?",
      "Weather in Oslo, Rome and Tokyo?",
      "(3 + 4) * 12 / 7",
      "What is the weather in Atlantis?",
    ],
  },
  ReasoningAgent: {
    name: "Reasoning",
    title: "Watch the agent think",
    text: "It takes a number apart, and shows how before it answers.",
    suggestions: ["Is 221 prime?", "What are the factors of 5040?", "Is 7919 prime?"],
  },
  Other: {
    name: "Other",
    title: "Talk to any endpoint",
    text: "Enter its address above: a path on this server, or a whole address that begins with ws.",
    suggestions: ["Hello"],
  },
};

/** The states of the connection. */
export const STATE_TEXTS = {
  idle: "Not connected",
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  ended: "Ended",
};

const ENDS = {
  closed: "Disconnected",
  completed: "The session has ended.",
  timeout: "The session ended, because nothing was said for a while.",
  error: "The session ended with an error.",
  refused: "The server refused the connection.",
  unreachable: "Nobody answers at this address.",
  address: "This is not an address that a browser can connect to.",
};

/** Why a connection is over, in a sentence. */
export const endOf = ({ reason, error, message }) =>
  error?.message ?? [ENDS[reason] ?? "The connection is over.", message].filter(Boolean).join(" ");
