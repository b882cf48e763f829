import Mail
import Testing

@Test("A mail has no HTML and no address for answers unless they are given")
func mailWithTextAlone() {
    let mail = MailMessage(from: "a@b.example", to: ["c@d.example"], subject: "s", text: "t")
    #expect(mail.html == nil && mail.replyTo == nil)
}
