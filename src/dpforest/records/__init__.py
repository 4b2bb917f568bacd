"""The only room that sees records: it bins them, routes them down trees and totals them."""
