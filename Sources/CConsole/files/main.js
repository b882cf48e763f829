document.body.textContent = "Roost";
