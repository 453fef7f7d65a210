import { Router } from 'express';

export function docsRouter(): Router {
  return Router();
}
