"""What requests to servers cost: the ledger, which `plan` and the stage `cost` read without the client."""
