import JSON

/// The options of webhooks.
enum WebhookOptions {
    /// Their rows in the table.
    static let table = [
        OptionDefinition(
            "webhookKey", "PARSE_SERVER_WEBHOOK_KEY", .string,
            "Sent to webhooks as X-Parse-Webhook-Key, so that they know who calls"),
        OptionDefinition(
            "webhookTimeout", "ROOST_WEBHOOK_TIMEOUT", .number,
            "How long a webhook is waited for, in milliseconds; 0 for as long as it takes; default 30000"),
        OptionDefinition(
            "webhookConnections", "ROOST_WEBHOOK_CONNECTIONS", .number,
            "How many calls are open to one host of webhooks at a time; ten times as many wait; default 100"),
    ]
}

extension Configuration {
    /// How webhooks are called.
    public struct Webhooks: Sendable {
        /// What webhooks are sent, so that they know who calls; nil for nothing.
        public var key: String?
        /// How long a webhook is waited for; nil for as long as it takes.
        public var timeout: Duration? = .seconds(30)
        /// How many calls are open to one host of webhooks at a time.
        public var connections = 100
    }
}

extension OptionReader {
    func readWebhooks(_ configuration: inout Configuration) throws(ConfigurationError) {
        configuration.webhooks.key = values["webhookKey"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
        let milliseconds = try int("webhookTimeout", 30_000, in: 0...86_400_000)
        configuration.webhooks.timeout = milliseconds == 0 ? nil : .milliseconds(milliseconds)
        configuration.webhooks.connections = try int("webhookConnections", 100, in: 1...10_000)
    }
}
