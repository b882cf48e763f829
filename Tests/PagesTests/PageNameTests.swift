import Pages
import Testing

@Test("Files of pages are named in snake case")
func fileNames() {
    #expect(PageName.passwordResetLinkInvalid.fileName == "password_reset_link_invalid")
    #expect(PageName.passwordReset.fileName == "password_reset")
}
