// `main.js CLIENT ADDRESS`; apart from the rest, for what a client imports has to be there by then.
import { main } from './serve.js'

await main()
