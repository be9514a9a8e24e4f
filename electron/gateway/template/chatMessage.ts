/** One message of a conversation, whatever API it came by. */
export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Text; empty where the client sent null. */
  content: string;
  name?: string;
  /** What the assistant thought before it answered. */
  reasoning?: string;
  /** Earlier calls of the assistant; `arguments` is the JSON text as the client sent it. */
  toolCalls?: { id: string; name: string; arguments: string }[];
  /** The call that a tool message answers. */
  toolCallId?: string;
}

/** A function that the model may call. */
export interface ChatTool {
  name: string;
  description?: string;
  /** JSON Schema of its arguments, an object. */
  parameters: Record<string, unknown>;
  /** The arguments must keep to the schema whatever it asks. */
  strict: boolean;
}
