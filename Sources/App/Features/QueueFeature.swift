import Mail
import Operations
internal import Push

/// Sends queued emails and notifications. Both queues stop concurrently, so neither delays the other.
struct QueueFeature: Feature {
    let mails: MailQueue?
    let pushes: PushQueue?
    let backend: Backend

    func run() async {
        guard !backend.configuration.readOnly else { return }
        async let sending: Void? = mails?.run(backend.store)
        await pushes?.run(backend)
        _ = await sending
    }
}
