"""Orders become invoices, one after another."""
